#!/usr/bin/env bash
# Everything that is measured on a device, in one prepared run of at most eight minutes on one data-centre GPU:
#
#     reports/device_run.sh --device cuda --output DIR      also cuda:1, npu
#     reports/device_run.sh --device cpu --output DIR       the same steps at a small size, to see that they run
#
# Every step has a time limit and writes as it goes; one that fails or runs out of time is named at the end and the next begins.
# Needs this repository's package with the extras torch and plots in the current environment, and no network.
set -uo pipefail

device=cuda output=device-run
while [ $# -gt 0 ]; do
    case $1 in
        --device) device=$2; shift 2 ;;
        --output) output=$2; shift 2 ;;
        *) echo "usage: $0 [--device cpu|cuda|npu] [--output DIR]" >&2; exit 2 ;;
    esac
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$output"
output=$(cd "$output" && pwd)
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1
oracle=(python -m tree_oracle.cli)
failed=()

step() { # SECONDS NAME COMMAND...; exit code 1 is a finding, not a failure
    local limit=$1 name=$2 code=0
    shift 2
    echo "== $name (${SECONDS}s)"
    timeout "$limit" "$@" > "$output/$name.log" 2>&1 || code=$?
    tail -n 3 "$output/$name.log"
    [ $code -le 1 ] || failed+=("$name (exit code $code)")
}

if [ "$device" = cpu ]; then
    targets=(--target exact --target tiny:llama) dtypes=(--dtype float32 --dtype bfloat16) kernels=(--kernel eager --kernel sdpa)
    sizes=(--width 9 --batch 1 --batch 2 --prefix 16 --rows 18) checked=float32
else
    targets=(--target exact)
    for name in llama qwen3 gpt2 gemma3 mixtral; do targets+=(--target "tiny:$name"); done
    dtypes=(--dtype float32 --dtype bfloat16 --dtype float16)
    kernels=(--kernel eager --kernel sdpa --kernel sdpa-math --kernel sdpa-efficient)
    sizes=(--width 33 --batch 1 --prefix 128 --rows 132) checked="float32 bfloat16 float16"
fi

# First what is asked of two devices: the same frozen numbers here and on this machine's CPU.
step 60 bundle-make "${oracle[@]}" bundle make "$output/bundle" --target tiny:qwen3 --trees 4
sites=()
for place in cpu "$device"; do
    for dtype in $checked; do
        for kernel in eager sdpa; do
            name=site-$place-$dtype-$kernel
            [ -e "$output/$name" ] && continue
            step 60 "$name" python "$output/bundle/run.py" --device "$place" --dtype "$dtype" --kernel "$kernel" --output "$output/$name"
            sites+=("$output/$name")
        done
    done
done
if [ "$device" = cpu ]; then # no second device: the same processor with other instructions, so that two sites are joined
    name=site-cpu-other-instructions
    step 60 "$name" env ATEN_CPU_CAPABILITY=default python "$output/bundle/run.py" --device cpu --kernel sdpa --output "$output/$name"
    sites+=("$output/$name")
fi
step 60 sign-off "${oracle[@]}" bundle compare "$output/bundle" "${sites[@]}" --markdown "$output/sign-off.md"

# Then the sweep: what is not finished when the time is over is not in the report, and the report says so.
step 240 tolerance "${oracle[@]}" tolerance measure "$output/tolerance.json" --device "$device" \
    "${targets[@]}" "${dtypes[@]}" "${kernels[@]}" "${sizes[@]}"
step 60 pages "${oracle[@]}" tolerance report "$output/tolerance.json" --html "$output/tolerance.html" --markdown "$output/tolerance.md"

echo "== done in ${SECONDS}s; what was written is in $output"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'not measured: %s\n' "${failed[@]}"
    exit 1
fi
