"""AG News: which of four subjects a piece of English news is about.

Paper: Zhang, Zhao and LeCun (2015), "Character-level Convolutional Networks for Text Classification".
Licence: unknown, as the data set's card says; the corpus was collected for research and other non-commercial use.
Files: none, as the customary CSV files hold title and description apart and the hub joins them.
Hub: fancyzhx/ag_news, pinned; train 120,000, test 7,600 with equal classes.
Example (made up in the same form):
    text: Ferry line cuts winter service The company says that too few people travel to the island between November and March.
    label: Business
"""

from evalkit.spec import Hub, TaskSpec

TASK = TaskSpec(
    name="ag_news",
    kind="classification",
    version=1,
    summary="Tell which of four subjects a piece of English news is about.",
    language="en",
    paper="Zhang et al. (2015). Character-level Convolutional Networks for Text Classification.",
    licence="unknown (data set card); collected for non-commercial use",
    hub=Hub(
        name="fancyzhx/ag_news",
        revision="eb185aade064a813bc0b7f42de02595523103ca4",
        splits={"train": "train", "test": "test"},
        options={"names": ("World", "Sports", "Business", "Sci/Tech")},
        checked="Name, revision and splits read in mteb and other public projects. Not loaded from here.",
    ),
    labels=("World", "Sports", "Business", "Sci/Tech"),
    instruction="Choose the subject of the news: World, Sports, Business, Sci/Tech.",
    prompt="News: {{ text }}\nSubject:",
    max_new_tokens=8,
)
