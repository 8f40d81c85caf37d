"""Per-cell formulas in logit space: exact and stable where probabilities saturate.

l+ = -log p, l- = -log(1 - p), H = p l+ + (1 - p) l-. With `eps > 0` every -log x becomes -log(x + eps), as the official code of
the seed paper has it (its gradient vanishes for confidently wrong cells; for comparison only).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def widen(logits: Tensor) -> Tensor:
    """Half precision becomes float32; float32 and float64 stay."""
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits


def positive_loss(logits: Tensor, eps: float = 0.0) -> Tensor:
    """-log p."""
    return -torch.log(torch.sigmoid(logits) + eps) if eps else -logsigmoid(logits)


def negative_loss(logits: Tensor, eps: float = 0.0) -> Tensor:
    """-log(1 - p)."""
    return -torch.log(torch.sigmoid(-logits) + eps) if eps else -logsigmoid(-logits)


def entropy(logits: Tensor, eps: float = 0.0) -> Tensor:
    """H(p). The gradient is -z p (1 - p), exact in the tails too: p and 1 - p are both made from log-sigmoids."""
    if eps:
        return torch.sigmoid(logits) * positive_loss(logits, eps) + torch.sigmoid(-logits) * negative_loss(logits, eps)
    log_p, log_q = logsigmoid(logits), logsigmoid(-logits)
    return -(log_p.exp() * log_p + log_q.exp() * log_q)


def cross_entropy(logits: Tensor, target: Tensor | float, eps: float = 0.0) -> Tensor:
    """target l+ + (1 - target) l-, for targets in [0, 1]."""
    return target * positive_loss(logits, eps) + (1 - target) * negative_loss(logits, eps)


def power_of_p(logits: Tensor, exponent: float) -> Tensor:
    """p ** exponent without the infinite slope of pow at 0; use `-logits` for (1 - p) ** exponent."""
    return torch.exp(exponent * logsigmoid(logits)) if exponent else torch.ones_like(logits)
