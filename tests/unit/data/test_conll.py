import pytest


def sentences(rows):
    return [(located.row["tokens"], located.row["tags"]) for located in rows]


@pytest.mark.parametrize(
    "content",
    [
        "Ada\tB-PER\nran\tO\n\nParis\tB-LOC\n",
        "Ada B-PER\r\nran  O\r\n\r\nParis B-LOC",
        "\n\nAda\tB-PER\nran\tO\n\t\n \n\nParis\tB-LOC\n\n\n",
        "\ufeffAda x B-PER\nran y O\n\nParis z B-LOC\n",
    ],
)
def test_blank_lines_end_sentences_and_tabs_or_spaces_columns(write, read, content):
    rows = read("conll", write("t", content))
    assert sentences(rows) == [(["Ada", "ran"], ["B-PER", "O"]), (["Paris"], ["B-LOC"])]
    assert all(set(located.row) == {"tokens", "tags"} for located in rows)


def test_the_line_is_that_of_the_first_token(write, read):
    assert [located.line for located in read("conll", write("t", "\na O\nb O\n\n\nc O\n"))] == [2, 6]


def test_a_number_sign_is_a_token(write, read):
    rows = read("conll", write("t", "#\tO\n#tea\tB-X\n# \tO\n"))
    assert sentences(rows) == [(["#", "#tea", "# "], ["O", "B-X", "O"])]


def test_a_tab_leaves_spaces_in_tokens_and_ideographic_spaces_are_tokens(write, read):
    assert sentences(read("conll", write("t", "New York\tB-LOC\n"))) == [(["New York"], ["B-LOC"])]
    assert sentences(read("conll", write("t", "\u3000 O\n\xa0 O\n"))) == [(["\u3000", "\xa0"], ["O", "O"])]


def test_columns_are_chosen_from_either_end(write, read):
    content = "1\t他\tB-PER\tx\n2\t来\tO\ty\n"
    rows = read("conll", write("t", content), token_column=1, tag_column=-2)
    assert sentences(rows) == [(["他", "来"], ["B-PER", "O"])]


def test_comments_give_ids_and_documents(write, read):
    content = (
        "# newdoc id = d1\n# sent_id = d1-1\n# text = x = y\n#\n#global.columns\n1\t#a\tO\n\n"
        "# sent_id = d1-2\n1\tb\tO\n\n# newdoc\n1\tc\tO\n"
    )
    rows = read("conll", write("t", content), comments=True, token_column=1)
    assert [(located.row.get("id"), located.row["cluster"], located.row["tokens"]) for located in rows] == [
        ("d1-1", "d1", ["#a"]),
        ("d1-2", "d1", ["b"]),
        (None, "1", ["c"]),
    ]


def test_docstart_begins_a_cluster_and_is_no_sentence(write, read):
    content = "-DOCSTART- -X- O\n\na x O\n\nb x O\n-DOCSTART- O\nc x O\n"
    rows = read("conll", write("t", content))
    assert [(located.row["cluster"], located.row["tokens"]) for located in rows] == [
        ("1", ["a"]),
        ("1", ["b"]),
        ("2", ["c"]),
    ]


def test_sentences_before_the_first_mark_are_a_document_and_files_share_none(write, read):
    content = "a O\n\n-DOCSTART- O\n\nb O\n"
    rows = read("conll", write("t", content), write("u", content), write("v", "c O\n"))
    clusters = [located.row.get("cluster") for located in rows]
    assert len(set(clusters[:4])) == 4
    assert None not in clusters[:4]
    assert clusters[4] is None


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("IOB2", "B-X I-X B-X O B-Y"),
        ("BIO", "B-X I-X B-X O B-Y"),
        ("IOB1", "I-X I-X B-X O I-Y"),
        ("IOBES", "B-X E-X S-X O S-Y"),
        ("BILOU", "B-X L-X U-X O U-Y"),
    ],
)
def test_every_scheme_becomes_iob2(write, read, scheme, tags):
    content = "".join(f"t{number}\t{tag}\n" for number, tag in enumerate(tags.split()))
    assert read("conll", write("t", content), scheme=scheme)[0].row["tags"] == ["B-X", "I-X", "B-X", "O", "B-Y"]


def test_inside_outside_tags_become_one_entity_a_run(write, read):
    rows = read("conll", write("t", "a I-X\nb I-X\nc I-Y\nd O\n"), scheme="IO")
    assert rows[0].row["tags"] == ["B-X", "I-X", "B-Y", "O"]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a\tO\nb\n", {}, "t:2: column count is 1; expected 2 as in the lines before"),
        ("a\tO\n\nb\tx\tO\n", {}, "t:3: column count is 3; expected 2 as in the lines before"),
        ("word\n", {}, "t:1: column count is 1; expected at least 2, token and tag among them"),
        (
            "a\tO\n",
            {"token_column": 2},
            "t:1: column count is 2; expected at least 3, token and tag among them",
        ),
        (
            "a\tO\nb\tE-X\n",
            {},
            "t:2: tag 'E-X' is not of scheme IOB2; fix it or name the scheme that the file is in",
        ),
        (
            "a\tO\nb\t\n",
            {},
            "t:2: tag '' is not of scheme IOB2; fix it or name the scheme that the file is in",
        ),
        ("a\tO\n\tO\n", {}, "t:2: the token is empty; expected a token and a tag"),
        (
            "a\tO\n\nb\tO\nc\tE-X\n",
            {"scheme": "IOBES"},
            "t:3: field 'tags': token 1: tag 'E-X' cannot stand behind 'O' in scheme IOBES; fix the tags"
            " or name the scheme that they are in",
        ),
        (
            "a\tO\n",
            {"scheme": "IOB3"},
            "unknown tag scheme 'IOB3'; did you mean 'IOB2'? known: IO, IOB1, IOB2, IOBES, BILOU",
        ),
        ("a\tO\n", {"comments": 1}, "option 'comments' is 1; expected true or false"),
        ("a\tO\n", {"tag_column": "2"}, "option 'tag_column' is '2'; expected a whole number"),
    ],
)
def test_complaints(write, read, complaint, content, options, expected):
    assert complaint(read, "conll", write("t", content), **options) == expected
