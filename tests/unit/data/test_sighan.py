def test_white_space_of_any_kind_separates_words(write, read):
    rows = read("sighan", write("t.utf8", "我  爱\u3000北京 \r\n\u3000天安门\n"))
    assert [located.row for located in rows] == [
        {"id": "1", "words": ["我", "爱", "北京"]},
        {"id": "2", "words": ["天安门"]},
    ]


def test_blank_lines_are_skipped_but_count_in_the_ids(write, read):
    rows = read("sighan", write("a", "我\n\n\u3000\n你\n"), write("b", "\n他\n"))
    assert [(located.row["id"], located.line) for located in rows] == [("1", 1), ("4", 4), ("6", 2)]
