"""Optimizers, learning rates over time, and the penalty on weights, from the recipe's numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from onetag.learn.loss import Loss
from onetag.recipe import OptimizerPart


def make_optimizers(model: nn.Module, loss: Loss, settings: OptimizerPart) -> list[torch.optim.Optimizer]:
    """One for the model, and one for each group of parameters of the loss (row-sparse Adam where only touched rows have gradients)."""
    parameters, lr, decay = model.parameters(), settings.lr, settings.weight_decay
    made: list[torch.optim.Optimizer]
    if settings.name == "sgd":
        made = [torch.optim.SGD(parameters, lr=lr, weight_decay=decay, momentum=0.9, fused=True)]
    elif settings.name == "adamw":
        made = [torch.optim.AdamW(parameters, lr=lr, weight_decay=decay, fused=True)]
    else:
        made = [torch.optim.Adam(parameters, lr=lr, weight_decay=decay, fused=True)]
    for group in loss.parameter_groups():
        kind = torch.optim.SparseAdam if group.sparse else torch.optim.Adam
        made.append(kind(group.parameters, lr=lr * group.lr_factor))
    for optimizer in made:
        for part in optimizer.param_groups:
            part["full_lr"] = part["lr"]
    return made


def set_rates(optimizers: list[torch.optim.Optimizer], schedule: str, fraction: float) -> None:
    """The rate is a function of time alone: nothing to store, nothing to lose when a run is resumed."""
    share = 0.5 * (1 + math.cos(math.pi * fraction)) if schedule == "cosine" else 1.0
    for optimizer in optimizers:
        for part in optimizer.param_groups:
            part["lr"] = part["full_lr"] * share


def penalty(model: nn.Module, settings: OptimizerPart) -> Tensor:
    """l1 sum |w| + l2 sum w^2 over all weights and biases."""
    total = torch.zeros(())
    for parameter in model.parameters():
        if settings.l1:
            total = total + settings.l1 * parameter.abs().sum()
        if settings.l2:
            total = total + settings.l2 * parameter.square().sum()
    return total
