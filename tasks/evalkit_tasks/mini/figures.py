"""Sentence types with numbers and places: journeys, births, prices, hours, crowds, animals, the weather."""

from __future__ import annotations

from collections.abc import Callable

from evalkit_tasks.mini.english import BE, WAS
from evalkit_tasks.mini.facts import Fact, this_thing
from evalkit_tasks.mini.phrases import Pieces, Speech
from evalkit_tasks.mini.streams import between, chance, pick

TRANSPORT = (
    (("by", "train"), ("坐", "火车")),
    (("by", "plane"), ("坐", "飞机")),
    (("by", "coach"), ("坐", "长途汽车")),
    (("by", "ship"), ("坐", "轮船")),
    (("by", "car"), ("开车",)),
    ((), ()),
    ((), ()),
)

PURPOSES = (
    (("on", "business"), ("出差",)),
    (("on", "holiday"), ("度假",)),
    (("to", "attend", "a", "meeting"), ("开会",)),
    (("to", "study"), ("留学",)),
    (("to", "see", "a", "doctor"), ("看病",)),
    ((), ()),
)

MONTHS = tuple(
    zip(
        (
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ),
        range(1, 13),
        strict=True,
    )
)

ANIMALS = (
    (
        "flying",
        ("飞翔",),
        "flyer",
        (("over the lake", ("湖", "上")), ("over the forest", ("森林", "上空")), ("in the sky", ("天", "上"))),
    ),
    ("sleeping", ("睡觉",), "pet,wild", (("under the tree", ("树", "下")), ("in the cage", ("笼子", "里")))),
    ("swimming", ("游动",), "fish", (("in the river", ("河", "里")), ("in the pond", ("池塘", "里")))),
    ("eating grass", ("吃", "草"), "farmanimal,horse", (("on the hill", ("山坡", "上")), ("by the river", ("河边",)))),
    (
        "playing",
        ("玩耍",),
        "pet,monkey,panda,bear,wild:seal",
        (("in the yard", ("院子", "里")), ("by the water", ("水边",))),
    ),
)

CROWDS = (
    ("pupil", "in the library", ("图书馆", "里")),
    ("pupil", "on the sports field", ("操场", "上")),
    ("passenger,tourist", "at the railway station", ("火车站", "里")),
    ("passenger,tourist", "at the airport", ("机场", "里")),
    ("patient", "in the hospital", ("医院", "里")),
    ("customer", "in the department store", ("百货商店", "里")),
    ("athlete,volunteer", "in the stadium", ("体育场", "里")),
    ("engineer,programmer,secretary", "in the office", ("办公室", "里")),
    ("tourist,child,guest", "in the park", ("公园", "里")),
    ("old man,musician,guest", "in the concert hall", ("音乐厅", "里")),
)

WEATHER = (
    (("it", "rained"), ("下", "了", "雨")),
    (("it", "snowed"), ("下", "了", "雪")),
    (("it", "was", "very", "cold"), ("很", "冷")),
    (("it", "was", "very", "hot"), ("很", "热")),
    (("there", "was", "a", "storm"), ("有", "暴风雨")),
    (("there", "was", "thick", "fog"), ("起", "了", "大雾")),
)

_PARTS_OF_DAYS = frozenset(
    ("last night", "this morning", "just now", "yesterday morning", "yesterday afternoon", "yesterday evening")
)
"""Times at which somebody can have seen an animal do something."""


class FigureMaker:
    """Draws sentences with numbers and places from the words and names of a split."""

    def __init__(self, speech: Speech) -> None:
        self.speech = speech
        self.rng = speech.rng
        self.lexicon = speech.lexicon
        self.kinds: tuple[tuple[int, Callable[[], Fact]], ...] = (
            (7, self.went),
            (3, self.born),
            (4, self.costs),
            (4, self.arrived),
            (3, self.counted),
            (3, self.animal),
            (3, self.heavy_weather),
        )

    def went(self) -> Fact:
        """Draw a journey: who went or will go where, how and what for."""
        rng, person = self.rng, self.speech.anybody()
        is_past = chance(rng, 0.55)
        time = pick(rng, self.lexicon.times["past" if is_past else "future"])
        is_country = chance(rng, 0.3)
        city = pick(rng, self.speech.names.countries if is_country else self.speech.names.cities)
        way, way_zh = pick(rng, TRANSPORT)
        purpose, purpose_zh = pick(rng, PURPOSES)
        if "study" in purpose and not is_country:
            purpose, purpose_zh = (), ()
        verb = ("went",) if is_past else ("will", "go")
        en = (*person.english, *verb, "to", (city.english, "LOC"), *way, *purpose, *time.english.split())
        particle = ("了",) if is_past and not purpose_zh else ()
        going = (() if is_past else ("会",)) + (*way_zh, "去", *particle)
        zh = (*person.chinese, *time.chinese.split(), *going, (city.chinese, "LOC"), *purpose_zh)
        if is_past and purpose_zh:
            zh = (*zh, "了")
        return en, zh, False

    def born(self) -> Fact:
        """Draw when and where somebody was born."""
        person, year = self.speech.named(), self.speech.year()
        city = pick(self.rng, self.speech.names.cities)
        en = (*person.english, "was", "born", "in", (city.english, "LOC"), "in", str(year))
        zh = (*person.chinese, f"{year}年", "出生", "在", (city.chinese, "LOC"))
        return en, zh, False

    def costs(self) -> Fact:
        """Draw the price of a thing."""
        noun = pick(self.rng, self.lexicon.nouns_of("wearable,device,furniture,instrument,dish,fruit,drink"))
        phrase = this_thing(self.speech, noun)
        is_dear = not {"device", "furniture", "instrument"}.isdisjoint(noun.classes)
        price = between(self.rng, 3, 60) * (50 if is_dear else 1)
        en = (*phrase.english, "costs" if phrase.agreement == "3" else "cost", str(price), "yuan")
        return en, (*phrase.chinese, "卖", str(price), "元"), False

    def arrived(self) -> Fact:
        """Draw when somebody arrived somewhere: the hour or the day."""
        person, city = self.speech.anybody(), pick(self.rng, self.speech.names.cities)
        hour, minute = between(self.rng, 6, 11), between(self.rng, 10, 59)
        if chance(self.rng, 0.5):
            clock = f"{hour}:{minute}"
            en = (*person.english, "arrived", "in", (city.english, "LOC"), "at", clock, "this", "morning")
            zh = (*person.chinese, "今天", "早上", clock, "到达", "了", (city.chinese, "LOC"))
            return en, zh, False
        (month, number), day = pick(self.rng, MONTHS), between(self.rng, 1, 28)
        en = (*person.english, "left", (city.english, "LOC"), "on", month, str(day))
        return (
            en,
            (*person.chinese, f"{number}月", f"{day}日", "离开", "了", (city.chinese, "LOC")),
            False,
        )

    def counted(self) -> Fact:
        """Draw how many people were at a place."""
        who, place, place_zh = pick(self.rng, CROWDS)
        noun = pick(self.rng, self.lexicon.nouns_of(who))
        count = str(between(self.rng, 13, 480))
        people = ("有", count, noun.measure, noun.chinese)
        if chance(self.rng, 0.4):
            time = pick(self.rng, self.lexicon.times["past"])
            en = ("there", "were", count, noun.plural, *place.split(), *time.english.split())
            return en, (*time.chinese.split(), *place_zh, *people), False
        return ("there", "are", count, noun.plural, *place.split()), (*place_zh, *people), False

    def animal(self) -> Fact:
        """Draw what an animal is doing, and where: the flying kind of bat, the swimming kind of seal."""
        verb, verb_zh, classes, places = pick(self.rng, ANIMALS)
        phrase = self.speech.definite(pick(self.rng, self.lexicon.nouns_of(classes)))
        place, place_zh = pick(self.rng, places)
        if chance(self.rng, 0.5):
            en = (*phrase.english, BE[phrase.agreement], *verb.split(), *place.split())
            return en, (*phrase.chinese, "正", "在", *place_zh, *verb_zh), False
        time = pick(self.rng, [time for time in self.lexicon.times["past"] if time.english in _PARTS_OF_DAYS])
        en = (*phrase.english, WAS[phrase.agreement], *verb.split(), *place.split(), *time.english.split())
        return (
            en,
            (*phrase.chinese, *time.chinese.split(), "在", *place_zh, *verb_zh),
            False,
        )

    def heavy_weather(self) -> Fact:
        """Draw the weather of a city."""
        city = pick(self.rng, self.speech.names.cities)
        weather, weather_zh = pick(self.rng, WEATHER)
        time = pick(self.rng, self.lexicon.times["past"])
        second = pick(self.rng, self.speech.names.cities)
        if chance(self.rng, 0.3) and second != city:
            en: Pieces = (*weather, "in", (city.english, "LOC"), "and", (second.english, "LOC"), *time.english.split())
            zh: Pieces = ((city.chinese, "LOC"), "和", (second.chinese, "LOC"), *time.chinese.split(), *weather_zh)
            return en, zh, False
        en = (*weather, "in", (city.english, "LOC"), *time.english.split())
        return en, ((city.chinese, "LOC"), *time.chinese.split(), *weather_zh), False
