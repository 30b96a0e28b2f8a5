"""The demo's rules, as data: a pattern and the plan that it leads to. The first that fits wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xun_cli.demo import change, look, run, talk
from xun_cli.demo.language import compiled, request_of, split_steps, tidy
from xun_cli.demo.results import Ask, Plan

Planner = Callable[[Ask], "Plan | None"]
"""Makes the plan of a request; None when the words fit but something else is meant."""


LONGEST = 2000
"""The longest request in characters that is no file's content; the patterns' time grows with its square."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        pattern: In the form of `language.compiled`, with `FRAGMENTS`; it must fit the whole request.
        plan: What to do then.
        raw: The request is taken to its last character: what it ends with is content.
    """

    pattern: str
    plan: Planner
    raw: bool = False


FRAGMENTS: Mapping[str, str] = {
    "show": "(?:show|cat|print|open|view|display|read|see|type|less|more|output|look at|give)(?: me| us)?",
    "the": "(?: all of the| all the| all my| all our| the| this| that| my| our| your| a| an| all)?",
    "here": "(?: here| there| in here| around here)?",
    "this": (
        "(?: (?:of|in|from|inside|under|across|within)(?: the| this| my| our| whole| entire| current|"
        " working| all| every)* (?:folder|directory|dir|project|repo|repository|workspace|code ?base|tree|files?))?"
    ),
    "in": "(?:in|inside|within|under|from|of|at)(?: the)?(?: file| folder| directory| files in)?",
    "change": "(?:replace|change|substitute|swap|exchange|rename|turn|switch|update|edit|convert|modify)",
    "with": "(?:with|by|to|into|for|as|->|=>|→)",
    "all": (
        "(?P<all> all(?: of)?| every| each)?(?:(?: the)?"
        " (?:occurrences?|instances?|uses?|usages?)(?: of)?)?(?: the)?(?: (?:word|text|string|name|phrase"
        "|value|line|function|variable|class|method|constant|module))?"
    ),
    "everywhere": "(?P<everywhere> everywhere| each time| all over)?",
    "make": "(?:create|make|write|add|new|touch|generate|start)(?: me)?",
    "saying": (
        "(?:with|containing|that (?:says|contains|reads|holds|has)|saying|reading|which"
        " (?:says|contains)|and (?:put|write)|:)(?: the| a)?(?: text| contents?| lines?| following| word"
        "| words| single line)*:?"
    ),
}
"""Parts that many patterns share, by the name in braces."""

RULES: tuple[Rule, ...] = (
    # Talk
    Rule("help(?: me)?|\\?|examples?|(?:show |list )?(?:me )?(?:the |all )?commands", talk.help_),
    Rule(
        "(?:what|how) (?:can|could|do|does) (?:you|i|xun|it|this)(?: (?:do|use|work|start|begin|know|understand)).*",
        talk.help_,
    ),
    Rule(
        "(?:hi|hello|hey|hallo|yo|howdy|greetings|good (?:morning|afternoon|evening|day))(?: there| xun| again| all)?",
        talk.hello,
    ),
    Rule(
        "(?:thanks|thank you|thx|ty|great|nice|cool|perfect|good job|well done|awesome|ok|okay)(?: a lot"
        "| so much| very much| xun)?",
        talk.thanks,
    ),
    Rule(
        "(?:who|what) are you|are you (?:an? )?(?:real )?(?:ai|bot|robot|llm|model|human|person|real)(?: model)?",
        talk.who,
    ),
    Rule("(?:which|what) (?:language )?model(?: are you| is (?:this|it|that)| do you use| am i using)?", talk.who),
    Rule(
        "(?:undo|revert)(?: (?:it|that|this|everything|(?:(?:the|my|your) )?(?:last| previous)?"
        " (?:change|edit|step|turn)s?))?",
        talk.undo,
    ),
    Rule("(?:take|roll|put|change) (?:it|that|this|the change) back|go back", talk.undo),
    Rule(
        "(?:what|which)(?: commands| tools)? (?:is|are|may|can)(?: you)?"
        " (?:allowed|permitted|run unasked).*|(?:show )?(?:the )?(?:policy|permissions)",
        talk.policy,
    ),
    Rule(
        "(?:how (?:do|can) (?:i|we) |how to )?(?:set|add|use|configure|enter|connect|choose|get|switch"
        " to)(?: up)?(?: an?| my| the)?(?: real| api| local| openai| other| different)*(?: keys?|"
        " models?| llm)",
        talk.setup,
    ),
    Rule("quit|exit|bye|goodbye|see you(?: later| soon)?|(?:close|leave)(?: xun)?", talk.leave),
    # Tests and commands
    Rule(
        "(?:run|execute|start|launch|do|try){the}(?: unit| project| project's| python| whole| full|"
        " complete)*(?: tests?| test ?suite| specs)(?: again| suite)?{this}",
        run.run_tests,
    ),
    Rule("(?:test|check)(?: it| this| that| everything| the (?:project|code|changes?))?(?: again)?", run.run_tests),
    Rule(
        "(?:do|are|check (?:that|if|whether))(?: all)?(?: the| my| our)? tests"
        " (?:still )?(?:pass(?:ing)?|run|work|green|ok|fine)",
        run.run_tests,
    ),
    Rule("(?:{show}|what is|what's|whats|check){the}(?: git)? status(?: of git)?", run.fixed("git status")),
    Rule(
        "what(?:'s| is| has| have i| have we| did i| did you)?(?: been)? changed?{here}(?: so far)?",
        run.fixed("git status"),
    ),
    Rule(
        "(?:{show}|what is|what's|whats){the}(?: current| git)*(?: diff| changes)(?: so far)?|what are the changes",
        run.fixed("git diff"),
    ),
    Rule(
        "(?:{show})?{the}(?: git| last| recent| latest|recent|last|latest|git)*(?: log| history| commits)",
        run.fixed("git log --oneline -n 10"),
    ),
    Rule(
        "(?:which|what|on which|on what)(?: git)? branch(?: am i on| are we on| is this| is it)?"
        "|(?:{show}){the} (?:git )?branch(?:es)?",
        run.fixed("git branch"),
    ),
    Rule(
        "where am i|pwd|(?:which|what) (?:folder|directory) (?:is this|am i in|are we in)|what is the"
        " current (?:folder|directory)",
        run.fixed("pwd"),
    ),
    Rule(
        "tests?|(?:run|execute){the} tests? (?:in|from|of|under)(?: the)?(?: file| folder)? <path>(?: folder)?",
        run.run_tests,
    ),
    Rule("\\$ ?<rest:command>", run.run_command, raw=True),
    Rule(
        "(?P<command>git [a-z][a-z-]+(?: .+)?|pytest(?: .+)?|tox|npm (?:test|start|install|run .+|ci)"
        "|make(?: (?!(?:me|a|an|the|it|this|that|new|sure)\\b)[\\w.-]+)?|cargo"
        " (?:test|build|check|run|fmt)(?: .+)?|go (?:test|build|vet|run)(?: .+)?|python3?"
        " (?:-m |-c |\\S+\\.py\\b).*|(?:echo|wc|du) .+|df(?: -h)?|date|whoami|uname(?: -a)?)",
        run.run_command,
        raw=True,
    ),
    Rule(
        "(?:run|execute)(?:(?: the)?(?: shell| bash)? command)?:? <rest:command>",
        run.run_command,
        raw=True,
    ),
    # Counting
    Rule(
        "how many(?: <kind>)? files(?: are| do (?:we|i|you) have| does this have| exist)?(?: there)?{here}{this}",
        look.count_files,
    ),
    Rule("count{the}(?: <kind>)? files{here}{this}", look.count_files),
    Rule(
        "how many lines(?: of code)?(?: are)?(?: there)? (?:in|does|has|of)(?: the)?(?: file)?"
        " <path>(?: have| has| hold)?",
        look.count_lines,
    ),
    Rule(
        "(?:count{the} lines (?:in|of)|how long is|(?:the )?length of|wc -l)(?: the)?(?: file)? <path>",
        look.count_lines,
    ),
    # Lists
    Rule("(?:ls|dir|tree|list|files|ll)(?: -\\w+)?", look.list_here),
    Rule(
        "(?:give|show|print|make|get)(?: me)? (?:a|the) (?:list|listing|overview) of{the} (?:files"
        "|folders|folder|directory)"
        "(?: and folders)?{here}{this}",
        look.list_here,
    ),
    Rule(
        "(?:give|show|print|get)(?: me)? (?:a|the) (?:list|listing) of(?: the)?(?: files in| folder|"
        " directory)*(?: the)?"
        " <path>(?: folder| directory)?",
        look.list_here,
    ),
    Rule("what(?:'s| is|s)? (?:in|inside)(?: the)? <path>", look.look_into),
    Rule(
        "(?:list|show|print|display|give|see|get|ls)(?: me| us)?{the}(?: of)?(?: the)?(?:"
        " (?:files?|folders?|director(?:y|ies)|contents?|everything|structure|tree|listing))(?:(?: and"
        "|,) (?:files|folders|directories|subfolders))?{here}{this}",
        look.list_here,
    ),
    Rule(
        "(?:list|show|print|display|ls|what(?:'s| is| are)|see)(?: me)?{the}(?: files?| folders?|"
        " contents?| everything)?(?: and folders| and directories)?"
        " (?:in|of|under|inside|from|at)(?: the)?(?: folder| directory)?"
        " <path>(?P<folder> folder| directory)",
        look.list_here,
    ),
    Rule(
        "(?:list|show|print|display|ls)(?: me)?{the}(?: files?| folders?| contents| everything)(?: and"
        " folders| and directories)? (?:in|of|under|inside|from|at)(?: the)?(?: folder| directory)?"
        " <path>",
        look.list_here,
    ),
    Rule(
        "what(?:'s| is| are|s)?(?: (?:files|the files|stuff|all|there|do we have|have we got|do you see"
        "|can you see))*(?: are| is)?(?: there)?(?: in)?"
        " (?:here|(?:this|the|my)(?: current)? (?:folder|directory|dir))",
        look.list_here,
    ),
    Rule(
        "(?:what|which) files(?: and folders)?(?: are| do (?:we|i|you) have| exist| can you see)?(?:"
        " there)?{here}{this}",
        look.list_here,
    ),
    Rule(
        "(?:what(?:'s| is|s)?|explain|describe|summari[sz]e|tell me about|introduce)(?: in)?(?: this|"
        " the| my)?(?: project| repo| repository| code ?base)(?: about| do| for| to me)?",
        look.overview,
    ),
    Rule(
        "what (?:does|is) (?:this|the|my)? ?(?:project|repo|repository|code ?base|code) (?:do|about|for)", look.overview
    ),
    # Changes
    Rule("{change}(?: the)? [\\w -]{1,40}? from <word:old> to <word:new> {in} <path>", change.replace),
    Rule(
        "{change}{all} <word:old> {with} <word:new>,? and(?: also)?(?: then)?(?: {change})? <word:old2>"
        " {with} <word:new2> {in} <path>",
        change.replace_both,
    ),
    Rule("substitute{all} <text:new> for <text:old> {in} <path>", change.replace),
    Rule(
        "{change}{all} <text:old>{everywhere} {with} <text:new>(?P<again> everywhere)? {in} <path>(?: everywhere)?",
        change.replace,
    ),
    Rule(
        "(?:in|inside)(?: the)?(?: file)? <path>[,:]? (?:please )?{change}{all} <text:old> {with}"
        " <text:new>{everywhere}",
        change.replace,
    ),
    Rule(
        "(?:rename|move|mv)(?: the| a)?(?P<file> file| folder| directory)? <path> (?:to|into|as|in) <path:goal>",
        change.two_paths("move", "Moved", "Moving"),
    ),
    Rule("mv <path> <path:goal>", change.two_paths("move", "Moved", "Moving")),
    Rule("cp <path> <path:goal>", change.two_paths("copy", "Copied", "Copying")),
    Rule("mkdir(?: -p)? <path>", change.make_folder),
    Rule(
        "(?:copy|cp|duplicate)(?: the| a)?(?P<file> file)? <path> (?:to|as|into|in) <path:goal>",
        change.two_paths("copy", "Copied", "Copying"),
    ),
    Rule(
        "{change}{all} <text:old> {with} <text:new> (?:in|across|over|throughout)(?: all| every| the| this| my| whole"
        "| entire| of| these)* (?:files?|folder|directory|project|repo|repository|code ?base|code|everywhere)",
        change.replace,
    ),
    Rule("{change}{all} <text:old> {with} <text:new>{everywhere}", change.replace),
    Rule(
        "(?:{make})(?: a| an| the)?(?: new| empty)* (?:folder|directory|dir)(?: named| called)? <path>",
        change.make_folder,
    ),
    Rule(
        "(?P<verb>append|add)(?P<line>(?: the| a| this)? (?:line|text|words?):?)? <text:content>"
        " (?:to|at)(?: the)?(?: (?:end|bottom) of)?(?: the)?(?: file)? <path>",
        change.append,
    ),
    Rule(
        "{make}(?: a| an| the)?(?: new| empty| blank| text| small)*(?P<file> file)?(?: named| called)?"
        " <path>(?: file)?,? ?{saying}\\s*<rest:content>",
        change.create,
        raw=True,
    ),
    Rule(
        "(?:write|put|save|store) <text:content>"
        " (?:to|into|in)(?: a| an| the)?(?: new)?(?P<file> file)?(?: named| called)? <path>",
        change.create,
    ),
    Rule(
        "{make}(?: a| an| the)?(?: new| empty| blank| text)*(?P<file> file)?(?: named| called)? <path>", change.create
    ),
    Rule(
        "(?:delete|remove|rm|erase|trash|unlink)(?: -\\w+)?(?: the| this| that)?(?P<file> file| folder|"
        " directory)? <path>(?: file)?",
        change.delete,
    ),
    Rule("(?:delete|remove|drop|erase){all} <text:old> (?:from|in|of)(?: the)?(?: file)? <path>", change.remove_text),
    # Files by name
    Rule(
        "(?:find|list|show|search for|locate|get)(?: me)?{the}(?: <kind>) (?:files?|scripts?|sources?){here}{this}",
        look.find_files,
    ),
    Rule(
        "(?:which|what|where are(?: the| my| our)?) <kind> files(?: are| exist)?(?: there)?{here}{this}",
        look.find_files,
    ),
    Rule(
        "(?:find|search for|locate|look for|where is|where's|show me){the} files?"
        " (?:named |called |like |matching )?<path>{this}",
        look.find_files,
    ),
    Rule("(?:find|list|locate|glob|ls){the} <path>", look.find_named),
    Rule("(?:list|ls|dir) <path>", look.list_here),
    Rule("(?:where is|where's|wheres)(?: the)? <path>", look.find_named),
    # Texts
    Rule(
        "(?:find|show me|look)(?: out)? where(?: the)?(?: function| class| variable| method)? <text:what>"
        " is (?:used|defined|mentioned|called|declared|imported|set){this}",
        look.find_text,
    ),
    Rule("(?:grep|rg)(?: -\\w+)* (?!for |in )<word:what> (?!in )<path>", look.find_text),
    Rule(
        "(?:find|search|grep|look|locate|rg)(?: -\\w+)*(?: me)?(?: for)?(?: all| every| each)?(?:"
        " the)?(?: (?:text|word|string|phrase|function|class|method|variable|uses?|usages?"
        "|occurrences?|references?|places|lines)(?: of"
        "| to| with| where)?)? <text:what>"
        " (?:in|inside|within|under|from)(?: the)?(?: file| folder| directory| files in)?"
        " <path>(?: file| folder)?",
        look.find_text,
    ),
    Rule(
        "(?:find|search|grep|look|locate|rg)(?: -\\w+)*(?: me)?(?: for)?(?: all| every| each)?(?:"
        " the)?(?: (?:text|word|string|phrase|function|class|method|variable|uses?|usages?"
        "|occurrences?|references?|places|lines)(?: of"
        "| to| with| where)?)? <text:what>(?: comments?)?(?: everywhere)?{here}{this}",
        look.find_text,
    ),
    Rule(
        "(?:where|in which files?) (?:is|are|do (?:we|i) use|did (?:we|i) use)(?: the)?(?: function|"
        " class| variable| method| word| text)?"
        " <text:what>(?: (?:used|defined|mentioned|called|declared|imported|set))?(?: in <path>)?",
        look.find_text,
    ),
    Rule(
        "(?:which|what) files? (?:contains?|mentions?|uses?|has|have|imports?)(?: the)?(?: text| word)? <text:what>",
        look.find_text,
    ),
    Rule("does(?: the)?(?: file)? <path> (?:contain|mention|use|have|import) <text:what>", look.find_text),
    Rule("is there (?:an? |any )?<text:what> in(?: the)?(?: file)? <path>", look.find_text),
    # Files
    Rule(
        "(?:{show})(?: the)? (?:first|top) <number:last> lines? (?:of|in|from)(?: the)?(?: file)? <path>",
        look.show_lines,
    ),
    Rule(
        "(?:{show})(?: the)? (?:last|bottom) <number:last> lines? (?:of|in|from)(?: the)?(?: file)? <path>",
        look.show_end,
    ),
    Rule(
        "(?:{show} )?(?:the )?lines? <number:first>(?: ?(?:-|–|to|until|through|and) ?<number:last>)?"
        " (?:of|in|from)(?: the)?(?: file)? <path>",
        look.show_lines,
    ),
    Rule(
        "(?:{show})(?: the)?(?: file)? <path>,? (?:from )?lines?"
        " <number:first>(?: ?(?:-|–|to|until|through) ?<number:last>)?",
        look.show_lines,
    ),
    Rule("head (?:-n ?)?-?<number:last> <path>", look.show_lines),
    Rule("tail(?: (?:-n ?)?-?<number:last>)? <path>", look.show_end),
    Rule(
        "(?:what(?:'s| is|s)?(?: written| there)? (?:in|inside)|{show}(?: what(?:'s| is) in)?)(?: the|"
        " this| that| my)?(?: (?:contents?|code|source|text) of)?(?: the)?(?: file| folder| directory)?"
        " <path>(?: file| again| folder)?",
        look.show,
    ),
    Rule("(?:{show}|head) <path>", look.show),
    Rule("(?:{show})(?: the)?(?: files?)? <path>,?(?: and)? <path:second>", look.show_two),
    Rule("(?:explain|describe|show|tell me) what(?: the)?(?: file| code in)? <path> (?:does|is|is for)", look.outline),
    Rule(
        "(?:explain|describe|summari[sz]e|outline|what does|what is|what's|tell me about|analy[sz]e"
        "|review)(?: the)?(?: file| code in)? <path>(?: do| about| for| to me)?",
        look.outline,
    ),
    # What is left over of these words names nothing
    Rule(
        "(?:show|open|read|print|display|delete|remove|edit|change)(?: me)?(?: (?:a|the|this|that|my))?(?: file)?",
        talk.which_file,
    ),
    Rule("(?:run|execute)(?: (?:a|the|this|my))?(?: (?:command|program|script|code))?", talk.which_command),
)
"""Every rule, in the order in which they are tried."""


class RuleBook:
    """The rules, ready for use. Making one compiles their patterns, which takes some milliseconds."""

    def __init__(self) -> None:
        self._rules = [(compiled(rule.pattern, FRAGMENTS), rule) for rule in RULES]

    def plan(self, text: str, *, recent: str = "", tools: frozenset[str] = frozenset()) -> Plan:
        """Return the plan for a person's *text*; for one that no rule fits, a plan that says so."""
        request = request_of(text)
        ask = Ask({}, request, recent, tools)
        # A word of courtesy may be the request itself.
        found = self._match(ask) or self._match(Ask({}, text.strip(), recent, tools))
        parts = split_steps(request, r"\s*(?:,? and then |,? then |;\s+|\n+\s*)\s*")
        if len(parts) < 2 or (found is not None and found[1].raw):
            if found is not None:
                return found[0]
            parts = split_steps(request, r",? and ")
        if 2 <= len(parts) <= 4:
            steps = [self._match(Ask({}, request_of(part), recent, tools)) for part in parts]
            if all(step is not None for step in steps):
                return _one_after_another([step[0] for step in steps if step is not None])
        return found[0] if found is not None else talk.unknown(ask)

    def _match(self, ask: Ask) -> tuple[Plan, Rule] | None:
        tidied = tidy(ask.text)
        is_long = len(ask.text) > LONGEST
        for pattern, rule in self._rules:
            if is_long and not rule.raw:
                continue
            match = pattern.fullmatch(ask.text if rule.raw else tidied)
            if match is None:
                continue
            words = {name: value.strip() for name, value in match.groupdict().items() if value}
            plan = rule.plan(Ask(words, ask.text, ask.recent, ask.tools))
            if plan is not None:
                return plan, rule
        return None


def _one_after_another(plans: Sequence[Plan]) -> Plan:
    answers = []
    for plan in plans:
        answers.append((yield from plan))
    return "\n\n".join(answers)
