"""What a run may use up. Each function gives the sentence that ends the run, or ``None``."""

from __future__ import annotations

from navci.model import Rules, Usage


def failures(verify_failures: int, rules: Rules, *, converging: bool = False) -> str | None:
    """The contract's Verify failures against ``max_verify_failures`` (Comet Native Loop).

    Counted across runs; also asked before the first turn of a run, so that a spent budget (or a
    lowered limit) costs no turn. ``converging`` only changes the words: the limit holds anyway.
    """
    if verify_failures < rules.max_verify_failures:
        return None
    aside = " although the last failure was smaller than the one before" if converging else ""
    return (
        f"The agent said done and was not {verify_failures} times "
        f"(max_verify_failures {rules.max_verify_failures}){aside}."
    )


def cost(spent: Usage, rules: Rules) -> str | None:
    """What the run spent so far against its limits; what is not known never ends it."""
    dollars, tokens = spent.cost_usd, spent.tokens
    if rules.max_cost_usd is not None and dollars is not None and dollars >= rules.max_cost_usd:
        return f"The run spent ${dollars:.2f} of at most ${rules.max_cost_usd:.2f}."
    if rules.max_tokens is not None and tokens is not None and tokens >= rules.max_tokens:
        return f"The run used {tokens} of at most {rules.max_tokens} tokens."
    return None


def time(out_of_time: bool) -> str | None:
    """The time budget, less its reserve for closing."""
    return "The time budget is used up but for what closing needs." if out_of_time else None


def iterations(iteration: int, rules: Rules, gate: str) -> str | None:
    """The hard cap every unattended run has; ``gate`` says why it did not end before."""
    if iteration < rules.max_iterations:
        return None
    last = f"Iteration {iteration} of at most {rules.max_iterations}"
    return f"{last} did not complete the task ({gate})."
