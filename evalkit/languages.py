"""Codes of languages: one form inside evalkit, whatever form a user writes.

The form is ISO 639-1 where it has a code, else ISO 639-3, in lower case and without region or script, so that ``zh-Hans``,
``zh_TW``, ``ZH`` and ``zho`` are all ``zh``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from evalkit.errors import InvalidInputError

UNSEGMENTED: frozenset[str] = frozenset({"zh", "ja"})
"""Languages of Chinese characters or kana, written without spaces between words."""

UNSPACED: frozenset[str] = UNSEGMENTED | {"th", "lo", "km", "my", "bo", "dz"}
"""All languages written without spaces between words."""

_OTHER_LETTERS = (
    "am ar be bg bn dv el fa gu he hi hy ka kn ko ky mk ml mn mr ne or pa ps ru sa sd si ta te tg ti ug uk ur yi"
)
NON_LATIN: frozenset[str] = UNSPACED | frozenset(_OTHER_LETTERS.split())
"""Languages written without Latin letters; those written in several scripts are not among them."""

_TABLE = """
aa aar Afar|ab abk Abkhazian|ae ave Avestan|af afr Afrikaans|ak aka Akan|am amh Amharic|an arg Aragonese|ar ara,arb Arabic
as asm Assamese|av ava Avaric|ay aym Aymara|az aze Azerbaijani|ba bak Bashkir|be bel Belarusian|bg bul Bulgarian
bi bis Bislama|bm bam Bambara|bn ben Bengali|bo bod,tib Tibetan|br bre Breton|bs bos Bosnian|ca cat Catalan
ce che Chechen|ch cha Chamorro|co cos Corsican|cr cre Cree|cs ces,cze Czech|cu chu Church Slavonic|cv chv Chuvash
cy cym,wel Welsh|da dan Danish|de deu,ger German|dv div Dhivehi|dz dzo Dzongkha|ee ewe Ewe|el ell,gre Greek
en eng English|eo epo Esperanto|es spa Spanish|et est,ekk Estonian|eu eus,baq Basque|fa fas,per,pes Persian|ff ful Fulah
fi fin Finnish|fj fij Fijian|fo fao Faroese|fr fra,fre French|fy fry Western Frisian|ga gle Irish|gd gla Scottish Gaelic
gl glg Galician|gn grn Guarani|gu guj Gujarati|gv glv Manx|ha hau Hausa|he heb Hebrew|hi hin Hindi|ho hmo Hiri Motu
hr hrv Croatian|ht hat Haitian Creole|hu hun Hungarian|hy hye,arm Armenian|hz her Herero|ia ina Interlingua
id ind Indonesian|ie ile Interlingue|ig ibo Igbo|ii iii Sichuan Yi|ik ipk Inupiaq|io ido Ido|is isl,ice Icelandic
it ita Italian|iu iku Inuktitut|ja jpn Japanese|jv jav Javanese|ka kat,geo Georgian|kg kon Kongo|ki kik Kikuyu
kj kua Kuanyama|kk kaz Kazakh|kl kal Kalaallisut|km khm Khmer|kn kan Kannada|ko kor Korean|kr kau Kanuri|ks kas Kashmiri
ku kur Kurdish|kv kom Komi|kw cor Cornish|ky kir Kyrgyz|la lat Latin|lb ltz Luxembourgish|lg lug Ganda|li lim Limburgish
ln lin Lingala|lo lao Lao|lt lit Lithuanian|lu lub Luba-Katanga|lv lav,lvs Latvian|mg mlg Malagasy|mh mah Marshallese
mi mri,mao Maori|mk mkd,mac Macedonian|ml mal Malayalam|mn mon,khk Mongolian|mr mar Marathi|ms msa,may,zsm Malay|mt mlt Maltese
my mya,bur Burmese|na nau Nauru|nb nob Norwegian Bokmal|nd nde North Ndebele|ne nep,npi Nepali|ng ndo Ndonga
nl nld,dut Dutch|nn nno Norwegian Nynorsk|no nor Norwegian|nr nbl South Ndebele|nv nav Navajo|ny nya Chichewa|oc oci Occitan
oj oji Ojibwa|om orm Oromo|or ori,ory Odia|os oss Ossetian|pa pan Punjabi|pi pli Pali|pl pol Polish|ps pus,pbt Pashto
pt por Portuguese|qu que Quechua|rm roh Romansh|rn run Rundi|ro ron,rum Romanian|ru rus Russian|rw kin Kinyarwanda
sa san Sanskrit|sc srd Sardinian|sd snd Sindhi|se sme Northern Sami|sg sag Sango|sh hbs Serbo-Croatian|si sin Sinhala
sk slk,slo Slovak|sl slv Slovenian|sm smo Samoan|sn sna Shona|so som Somali|sq sqi,alb Albanian|sr srp Serbian|ss ssw Swati
st sot Southern Sotho|su sun Sundanese|sv swe Swedish|sw swa,swh Swahili|ta tam Tamil|te tel Telugu|tg tgk Tajik|th tha Thai
ti tir Tigrinya|tk tuk Turkmen|tl tgl Tagalog|tn tsn Tswana|to ton Tongan|tr tur Turkish|ts tso Tsonga|tt tat Tatar
tw twi Twi|ty tah Tahitian|ug uig Uyghur|uk ukr Ukrainian|ur urd Urdu|uz uzb,uzn Uzbek|ve ven Venda|vi vie Vietnamese
vo vol Volapuk|wa wln Walloon|wo wol Wolof|xh xho Xhosa|yi yid,ydd Yiddish|yo yor Yoruba|za zha Zhuang
zh zho,chi,cmn,yue,wuu,lzh Chinese|zu zul Zulu
"""
"""ISO 639-1 code, the three-letter codes that it stands for, English name."""

_COUNTRIES: Mapping[str, str] = {
    "cn": "zh",
    "tw": "zh",
    "hk": "zh",
    "jp": "ja",
    "kr": "ko",
    "cz": "cs",
    "gr": "el",
    "dk": "da",
    "ua": "uk",
    "vn": "vi",
    "us": "en",
    "gb": "en",
}
"""Codes of countries that stand where the code of a language belongs."""

_TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE | re.ASCII)


@functools.cache
def _names() -> Mapping[str, str]:
    """English name of each ISO 639-1 code."""
    return {code: name for code, _, name in _rows()}


@functools.cache
def _shortened() -> Mapping[str, str]:
    """ISO 639-1 code of each three-letter code that has one."""
    return {long: code for code, longs, _ in _rows() for long in longs.split(",")}


def _rows() -> list[tuple[str, str, str]]:
    rows = []
    for entry in _TABLE.strip().replace("\n", "|").split("|"):
        code, longs, name = entry.split(" ", 2)
        rows.append((code, longs, name))
    return rows


def language_code(text: str) -> str:
    """The code of a language in the one form that evalkit compares.

    Args:
        text: A code of ISO 639-1 or 639-3 in any case, with or without script and region.

    Raises:
        InvalidInputError: It is no such code; says which one may have been meant.

    >>> [language_code(text) for text in ("zh-Hans", "zh_TW", "cmn", "EN", "fil")]
    ['zh', 'zh', 'zh', 'en', 'fil']
    """
    match = _TAG.fullmatch(text)
    primary = match[1].lower() if match else ""
    if primary in _names():
        return primary
    if len(primary) == 3:
        return _shortened().get(primary, primary)
    raise InvalidInputError(
        f"language {text!r} is no code of ISO 639;{_hint(text)} expected a code such as 'en', 'zh' or 'zh-Hans'"
    )


def _hint(text: str) -> str:
    """The code that a name or a country may have meant."""
    import difflib

    lowered = text.strip().lower()
    if lowered in _COUNTRIES:
        return f" did you mean {_COUNTRIES[lowered]!r}?"
    codes = {name.lower(): code for code, name in _names().items()} | {"mandarin": "zh", "中文": "zh", "日本語": "ja"}
    first = lowered.replace("(", " ").partition(" ")[0]
    close = difflib.get_close_matches(lowered, codes, n=1, cutoff=0.75) or [first]
    return f" did you mean {codes[close[0]]!r}?" if close[0] in codes else ""


def language_name(code: str) -> str:
    """The English name of a language code; the code itself where it is not known."""
    return _names().get(code, code)
