#!/usr/bin/env bash
# Everything that is measured on a device, in one prepared run of less than eight minutes on one data-centre GPU:
#
#     reports/device_run.sh --device cuda --output DIR      also cuda:1, npu
#     reports/device_run.sh --device cpu --output DIR       the same steps at a small size, to see that they run
#     ... --seconds N                                       the time for all of it; 470 unless said otherwise
#
# Every step has a limit of its own and the end of the whole as another. What fails or does not fit is named at the end; the steps
# stand in the order of their worth, so a slow machine loses the last ones. Needs this repository with the extras torch, plots and
# test in the current environment, and no network.
set -uo pipefail

device=cuda output=device-run seconds=470
while [ $# -gt 0 ]; do
    case $1 in
        --device) device=$2; shift 2 ;;
        --output) output=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        *) echo "usage: $0 [--device cpu|cuda|npu] [--output DIR] [--seconds N]" >&2; exit 2 ;;
    esac
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$output"
cd "$output" || exit 2 # what a command keeps beside it is kept here
output=$(pwd)
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1
oracle=(python -m tree_oracle.cli)
failed=() findings=()
if ! "${oracle[@]}" --help > /dev/null; then
    echo "$0: tree-oracle cannot start here; activate an environment that has it with the extras torch, plots and test" >&2
    exit 2
fi

step() { # SECONDS NAME COMMAND...; exit code 1 is a finding unless told otherwise, any other but 0 a failure
    local left=$((seconds - SECONDS)) limit=$1 name=$2 finding=${finding:-1} code=0
    shift 2
    if [ $left -le 0 ]; then
        failed+=("$name (no time was left)")
        return
    fi
    [ $left -ge "$limit" ] || limit=$left
    echo "== $name (${SECONDS}s)"
    timeout --kill-after=5 "$limit" "$@" > "$output/$name.log" 2>&1 || code=$?
    tail -n 3 "$output/$name.log"
    case $code in
        0) ;;
        "$finding") findings+=("$name") ;;
        124 | 137) failed+=("$name (cut after ${limit}s)") ;;
        *) failed+=("$name (exit code $code)") ;;
    esac
}

if [ "$device" = cpu ]; then
    names=(exact tiny:llama) dtypes=(float32) kernels=(eager sdpa)
    sizes=(--width 9 --batch 1 --batch 2 --prefix 16 --rows 18) nodes=(--nodes 16 --nodes 32) judged=float32
else
    names=(exact tiny:llama tiny:qwen3 tiny:gemma3 tiny:mixtral tiny:gpt2) dtypes=(float32 bfloat16 float16)
    kernels=(eager sdpa sdpa-math sdpa-efficient)
    sizes=(--width 33 --batch 1 --prefix 128 --rows 66) nodes=(--nodes 64 --nodes 128 --nodes 256) judged=bfloat16
fi
asked=()
for kernel in "${kernels[@]}"; do asked+=(--kernel "$kernel"); done

# What must hold on any device: its switches, each of its kernels, a tree pass, the exact model, the end of its memory.
step 120 properties python -m pytest -p no:cacheprovider "$root/properties/test_cuda.py" "$root/properties/test_cuda_backend.py"

# What is asked of two devices: the same frozen numbers here and on this machine's CPU.
finding=none step 60 bundle-make "${oracle[@]}" bundle make "$output/bundle" --target tiny:qwen3 --trees 4
sites=()
site() { # PLACE DTYPE KERNEL [SUFFIX]; a bundle judges nothing, so no exit code is a finding
    local name=site-$1-$2-$3${4:-}
    finding=none step 45 "$name" python "$output/bundle/run.py" --device "$1" --dtype "$2" --kernel "$3" --output "$output/$name"
    [ ! -e "$output/$name" ] || sites+=("$output/$name")
}
for dtype in "${dtypes[@]}"; do
    site "$device" "$dtype" eager
    site "$device" "$dtype" sdpa
    [ "$device" = cpu ] || site cpu "$dtype" sdpa
done
if [ "$device" = cpu ]; then # no second device: the same processor with other instructions, so that two sites are joined
    export ATEN_CPU_CAPABILITY=default
    site cpu float32 sdpa -other
    unset ATEN_CPU_CAPABILITY
fi
step 45 sign-off "${oracle[@]}" bundle compare "$output/bundle" "${sites[@]}" --markdown "$output/sign-off.md"

# The kernels as operators, judged by every case of their family, and whether they skip what a mask forbids.
for kernel in "${kernels[@]}"; do
    step 60 "attend-$kernel" "${oracle[@]}" check --decoder "tree_oracle.adapters.attention:${kernel//-/_}" --family ATTEND \
        --target exact --device "$device" --dtype "$judged" --in-process --output "$output/attend-$kernel.json"
done
finding=none step 60 masks "${oracle[@]}" tolerance masks --device "$device" --dtype "$judged" "${asked[@]}" "${nodes[@]}" --depth 4 --depth 8

# One cell with reduced float32 products (TF32), which the report's place says. An NPU does not know that switch.
measure() { # SECONDS NAME OPTIONS...
    local limit=$1 name=$2
    shift 2
    step "$limit" "$name" "${oracle[@]}" tolerance measure "$output/$name.json" --device "$device" "${sizes[@]}" "$@"
}
case $device in
    npu*) ;;
    *) TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 measure 45 tolerance-tf32 --target tiny:qwen3 --dtype float32 --kernel sdpa ;;
esac

# The sweep, target by target: one that is cut costs its own report and no other.
asked+=("${dtypes[@]/#/--dtype=}")
for name in "${names[@]}"; do
    measure 90 "tolerance-${name#tiny:}" --target "$name" "${asked[@]}"
done

# Pages need no device, and can be written from the data anywhere.
for file in "$output"/tolerance-*.json; do
    [ -e "$file" ] || continue
    page=${file%.json}
    step 45 "pages-${page##*/tolerance-}" "${oracle[@]}" tolerance report "$file" --html "$page.html" --markdown "$page.md"
done

echo "== done in ${SECONDS}s; what was written is in $output"
[ ${#findings[@]} -eq 0 ] || printf 'found something: %s\n' "${findings[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'not measured: %s\n' "${failed[@]}"
    exit 1
fi
