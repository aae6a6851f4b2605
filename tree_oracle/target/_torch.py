"""Import torch once, before every other module of this package, and say in one sentence what is wrong where it fails.

A device plug-in that cannot start makes plain ``import torch`` fail, because torch loads plug-ins by itself: torch_npu
without CANN is the common case. A second attempt within the same process cannot work (half of torch is already loaded), and
switching the plug-in off behind the caller's back would quietly move an NPU run to the CPU. So the remedy is named instead.
"""

from __future__ import annotations

from tree_oracle.target.errors import TorchError

try:
    import torch as torch
    import transformers as transformers
except ModuleNotFoundError as error:
    raise TorchError(
        f"targets need torch and transformers ({error}); install them with: pip install 'tree-oracle[torch]'"
    ) from error
except (ImportError, OSError, RuntimeError) as error:
    raise TorchError(
        f"torch is installed but cannot be imported: {str(error).rstrip('.')}. A device plug-in without its driver "
        "(torch_npu without CANN) does that; run 'source set_env.sh' from CANN's folder to use the device, or set the "
        "environment variable TORCH_DEVICE_BACKEND_AUTOLOAD=0 to leave plug-ins out"
    ) from error
