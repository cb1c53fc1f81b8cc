"""TNEWS: which of fifteen subjects a headline of a Chinese news app is about.

Paper: Xu et al. (2020), "CLUE: A Chinese Language Understanding Evaluation Benchmark".
Licence: not stated.
Files: train.json and dev.json of CLUE's TNEWS, JSON lines with sentence and label_desc; dev, 10,000 headlines, is scored, as the
labels of the test set are not public.
Hub: clue/clue, configuration tnews, pinned. It names the classes by their numbers, which become the names below.
Example (made up in the same form):
    text: 今年冬天去海岛的渡轮要停航了？
    label: 旅游
"""

from evalkit.spec import Files, Hub, TaskSpec

_NAMES = {
    "100": ("news_story", "故事"),
    "101": ("news_culture", "文化"),
    "102": ("news_entertainment", "娱乐"),
    "103": ("news_sports", "体育"),
    "104": ("news_finance", "财经"),
    "106": ("news_house", "房产"),
    "107": ("news_car", "汽车"),
    "108": ("news_edu", "教育"),
    "109": ("news_tech", "科技"),
    "110": ("news_military", "军事"),
    "112": ("news_travel", "旅游"),
    "113": ("news_world", "国际"),
    "114": ("news_stock", "股票"),
    "115": ("news_agriculture", "农业"),
    "116": ("news_game", "游戏"),
}
"""Number of a class, its name in the files, and the name that prompts and scores use."""

TASK = TaskSpec(
    name="tnews",
    kind="classification",
    version=1,
    summary="Tell which of fifteen subjects a Chinese headline is about.",
    language="zh",
    paper="Xu et al. (2020). CLUE: A Chinese Language Understanding Evaluation Benchmark.",
    licence="not stated",
    files=Files(
        format="jsonl",
        splits={"train": ("classification/tnews/train.json",), "dev": ("classification/tnews/dev.json",)},
        fields={"text": "sentence", "label": "label_desc"},
        options={"values": {"label": {code: name for code, name in _NAMES.values()}}},
    ),
    hub=Hub(
        name="clue/clue",
        revision="28178267a609dd08bdc703dd6c931dfc2c2f4431",
        config="tnews",
        splits={"train": "train", "dev": "validation"},
        fields={"text": "sentence"},
        options={"values": {"label": {number: name for number, (_, name) in _NAMES.items()}}},
        checked="Name, revision, Parquet files, columns and names of classes read in public projects. Not loaded from here.",
    ),
    split="dev",
    labels=tuple(name for _, name in _NAMES.values()),
    prompt="标题：{{ text }}\n类别：",
    max_new_tokens=8,
)
