/** Why a turn or step failed, in words, by the kind of its failure. */
const WORDS: Readonly<Record<string, string>> = {
  auth: 'The provider did not accept the credentials.',
  'rate-limited': 'The provider allows no more requests for now.',
  overloaded: 'The provider was too busy, also after further attempts.',
  'context-overflow': 'The request was larger than the model can take, also after it was made smaller.',
  'context-budget-exhausted': 'Not even a shortened history leaves room for another request.',
  'invalid-request': 'The provider refused the request as malformed.',
  network: 'The provider could not be reached.',
  timeout: 'The provider did not answer in time.',
  aborted: 'It was stopped while it ran.',
  'content-filter': 'The provider withheld the answer.',
  'malformed-response': 'What the provider sent could not be read.',
  'provider-error': 'The provider reported an error of its own.',
  'step-limit': 'The turn took as many steps as it may.',
  'runtime-closed': 'The runtime was closed; the turn can be resumed.',
};

/** What the kind of a failure means; undefined where it says all by itself. */
export function failureWords(kind: string): string | undefined {
  return Object.hasOwn(WORDS, kind) ? WORDS[kind] : undefined;
}
