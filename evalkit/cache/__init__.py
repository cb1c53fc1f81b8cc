"""The response cache: what models answered, so that nothing is asked twice and a stopped run goes on where it was.

place.py      where the file lies, and what the flag and the environment say
keys.py       what a response depends on, as one digest
rows.py       the rows of the file: written, read and checked, evicted and counted
opening.py    a file that can be trusted: opened, made, or set aside and made again
responses.py  the cache as a run uses it: it never stops one
"""
