"""What is raised: only what nothing was recorded for, and what the caller's code has to be changed for."""

from .status import Problem


class FactumError(Exception):
    """The base of this package's exceptions."""


class Refused(FactumError):
    """The engine does not take the request as it is; nothing was recorded. `problem` names the member, the rule and the remedy."""

    def __init__(self, problem: Problem):
        self.problem = problem
        where = f" {problem.member}:" if problem.member else ""
        code = f" ({problem.code})" if problem.code else ""
        super().__init__(f"{problem.title}{code}:{where} {problem.rule}; {problem.remedy}")


class Unreachable(FactumError):
    """The engine did not answer a question. Nothing follows from that about any action."""
