#!/usr/bin/env bash
# The kept CPU reports: twelve sweeps and a ledger of work into reports/tolerance/, one torch thread. `smollm2.py` says what SmolLM2 needs.
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
# One cell per dense architecture with 5,016 judged rows, and flex_attention in models, which runs without a compiler.
dense=()
for name in llama gpt2 mistral gemma3 qwen3 cohere2; do dense+=(--target "tiny:$name"); done
sweep cpu-dense-5000-rows "${dense[@]}" --dtype float32 --kernel sdpa --width 33 --prefix 16 --rows 5016
sweep cpu-gemma2-5000-rows --target tiny:gemma2 --dtype float32 --kernel eager --width 33 --prefix 16 --rows 5016
every=()
for name in llama qwen3 gpt2 cohere2 gemma2 gemma3 mistral mixtral gptoss llama4; do every+=(--target "tiny:$name"); done
sweep cpu-5000-rows "${every[@]}" --dtype float32 --dtype float64 --kernel eager --kernel sdpa-math --kernel sdpa-flash \
    --width 33 --prefix 16 --rows 5016
# What was usable in half precision with 132 rows, with 5,016.
sweep cpu-float16-5000-rows --target tiny:gemma3 --dtype float16 --kernel eager --kernel sdpa-math --kernel sdpa-flash \
    --width 33 --prefix 128 --rows 5016
sweep cpu-float16-gemma2-5000-rows --target tiny:gemma2 --dtype float16 --kernel eager --width 33 --prefix 128 --rows 5016
flex=()
for name in qwen3 llama gemma2 gemma3 llama4 mistral mixtral cohere2 gpt2; do flex+=(--target "tiny:$name"); done
sweep cpu-flex "${flex[@]}" --dtype float32 --dtype bfloat16 --kernel flex --width 33 --prefix 32 --rows 66
# Rows held in eight bits, at a prefix that is short and at long ones: noise and faults overlap there.
sweep cpu-quantised-cache --target tiny:llama --target tiny:qwen3 --dtype float32 --dtype bfloat16 --kernel sdpa --cache fp8 \
    --width 33 --prefix 16 --prefix 256 --prefix 1024 --rows 66

# A trained model of 135 million weights; a cell takes minutes.
[ -d SmolLM2-135M-Instruct ] || python ../smollm2.py SmolLM2-135M-Instruct
sweep cpu-smollm2 --target dir:SmolLM2-135M-Instruct "${dtypes[@]}" --kernel eager --kernel sdpa-math --kernel sdpa-flash \
    --kernel flex --width 9 --prefix 32 --rows 36

# What a pass holds over trees of several sizes and depths, and whether a kernel skips what a mask forbids. flex-compiled needs a
# C++ compiler. Times of a busy machine overlap, and then no difference is seen.
shown() {
    printf '$ tree-oracle tolerance %s\n\n' "$*"
    python -m tree_oracle.cli tolerance "$@"
    printf '\n'
}
{
    shown work --target tiny:qwen3 --nodes 16 --nodes 32 --nodes 64 --nodes 128 --nodes 256 --depth 4
    shown work --target tiny:qwen3 --nodes 64 --depth 2 --depth 4 --depth 8 --depth 16
    shown masks --kernel eager --kernel sdpa-math --kernel sdpa-flash --kernel flex --kernel flex-compiled --nodes 64 --nodes 256 \
        --nodes 512 --depth 4 --depth 32
} > cpu-work.txt
