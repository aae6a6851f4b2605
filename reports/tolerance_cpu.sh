#!/usr/bin/env bash
# The kept CPU reports: three sweeps into reports/tolerance/, one torch thread.
# An interrupted run goes on where it stopped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/tolerance"
export OMP_NUM_THREADS=1

sweep() {
    local name=$1
    shift
    python -m tree_oracle.cli tolerance measure "$name.json" --resume "$@" || [ $? -eq 1 ]
    python -m tree_oracle.cli tolerance report "$name.json" --html "$name.html" --markdown "$name.md" > /dev/null || [ $? -eq 1 ]
}

dtypes=(--dtype float64 --dtype float32 --dtype bfloat16 --dtype float16)
targets=(--target exact)
for name in cohere2 gemma2 gemma3 gpt2 gptoss llama llama4 mistral mixtral qwen3; do targets+=(--target "tiny:$name"); done

sweep cpu-architectures "${targets[@]}" "${dtypes[@]}" --kernel eager --kernel sdpa-math --kernel sdpa-flash \
    --width 33 --prefix 128 --rows 132
sweep cpu-heads --target tiny:llama:head=64 --target tiny:llama:head=128 --target tiny:llama:head=192 "${dtypes[@]}" \
    --kernel eager --kernel sdpa-flash --width 33 --prefix 128 --rows 66
sweep cpu-sizes --target tiny:qwen3 --dtype float32 --dtype bfloat16 --kernel sdpa-flash --width 9 --width 33 \
    --batch 1 --batch 6 --batch 12 --prefix 16 --prefix 256 --rows 66
