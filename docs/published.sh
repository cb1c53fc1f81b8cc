#!/bin/sh
# A leaderboard of published outputs: nine systems of WMT22, SQuAD predictions, and WNUT17 submissions.
#
#   sh docs/published.sh DATA OUT [RUNS]
#
# DATA  folder of the data sets, laid out as docs/tasks.md says
# OUT   report file: .md, .html, .csv, .tex or .json
# RUNS  folder that the runs are kept in, without any yet [runs/published]
set -eu
data=$1 out=$2 runs=${3:-runs/published}

set --
for system in AISP-SJTU DLUT HuaweiTSC JDExploreAcademy Lan-Bridge LanguageX Online-A Online-B Online-W; do
  set -- "$@" --model "predictions:$data/mt/wmt22/en-zh/generaltest2022.en-zh.hyp.$system.zh.gz"
done
evalkit run --data-dir "$data" --out "$runs" --task wmt22_en_zh "$@"
evalkit run --data-dir "$data" --out "$runs" --task squad \
  --model "predictions:$data/qa/squad/predictions/v1.1_logistic_regression.json.gz"
evalkit run --data-dir "$data" --out "$runs" --task squad_v2 \
  --model "predictions:$data/qa/squad/predictions/v2.0_bidaf_sa_elmo.json.gz"
evalkit run --data-dir "$data" --out "$runs" --task wnut17 \
  --model "predictions:$data/ner/wnut17/submissions/arcada.txt" \
  --model "predictions:$data/ner/wnut17/submissions/drexel_cci.txt" \
  --model "predictions:$data/ner/wnut17/submissions/spinningbytes.txt"

evalkit report "$runs" --out "$out" --title "Published outputs" \
  --metric bleu --metric squad_v1.f1 --metric squad_v2.f1 --metric seqeval.f1 \
  --name "generaltest2022.en-zh.hyp.*.zh=*" --name "v1.1_*=*" --name "v2.0_*=*" \
  --made-by "sh docs/published.sh DATA $out"
