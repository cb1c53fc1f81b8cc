"""FLORES-200, English to German: how well single sentences of Wikinews, Wikijunior and Wikivoyage are translated.

Paper: NLLB Team et al. (2022), "No Language Left Behind"; Goyal et al. (2022), "The FLORES-101 Evaluation Benchmark".
Licence: CC BY-SA 4.0.
Files: the archive ``flores200_dataset``, unpacked as ``mt/flores200``; dev has 997 sentences, devtest (here: test) 1,012.
Hub: mteb/FloresBitextMining, pinned, one column a language; facebook/flores is a script and cannot be loaded any more.
Metrics: those of the kind; spBLEU, which the paper reports, is ``Bleu(tokenize="flores200")`` and needs a download.
Example (made up in the same form):
    source: The harbour was closed on Monday after the storm damaged two cranes.
    reference: Der Hafen wurde am Montag geschlossen, nachdem der Sturm zwei Kräne beschädigt hatte.
"""

from evalkit_tasks._flores200 import flores200

TASK = flores200("en", "de")
