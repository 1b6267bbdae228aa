/** Why a call did not run, in words, by the code of its refusal. */
const WORDS: Readonly<Record<string, string>> = {
  'exclusive-step': 'Its tool runs alone in a step, and the model called others beside it.',
  'cut-off': 'The answer was cut at its length limit, so its calls may be incomplete. None of them ran.',
  'invalid-arguments': 'The arguments do not fit the schema of the tool.',
  'loop-gate': 'The same call failed several times in a row; it was stopped before it failed again.',
  'needs-schema': 'The model called it without having seen its parameters; it was shown them instead.',
  'not-active': 'The tool exists and was not visible in this step: the model has to find it first.',
  withdrawn: 'The source of the tool took it back.',
  'tool-changed': 'The tool changed after the model had seen it.',
  'unknown-tool': 'No tool of that name is bound to the agent.',
  'tool-choice-none': 'This request allowed no calls: the turn was at its last step.',
  'tool-call-budget': 'The budget of calls was used up.',
  'gate-refused': 'A gate of this program refused it.',
  denied: 'A person, or the permission policy, denied it.',
  expired: 'Nobody decided in time.',
  skipped: 'A steering text came before it had begun; it was skipped.',
  'turn-ended': 'The turn ended before it began.',
};

/** What a refusal code means; the code itself where a newer runtime wrote one. */
export function refusalWords(code: string): string {
  return Object.hasOwn(WORDS, code) ? (WORDS[code] ?? code) : code;
}
