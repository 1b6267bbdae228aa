/** One message of a request, as far as pairing goes. */
export interface PairedMessage {
  readonly role: string;
  /** Of an assistant message: its calls, in order. */
  readonly calls?: readonly PairedCall[];
  /** Of a tool message: the ids it answers, in order. */
  readonly answers?: readonly string[];
}

/** One call as a request replays it. `complaint` is what is wrong with its form, if anything is. */
export interface PairedCall {
  readonly id: string;
  readonly name: string;
  readonly complaint?: string;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const ID = /^[^\s\p{Cc}]{1,256}$/u;

/**
 * What makes a provider refuse a conversation: each assistant call must have exactly one result, in the order
 * of the calls, right after its message; names and ids must be legal and no id may occur twice. Empty = sound.
 */
export function pairingViolations(messages: readonly PairedMessage[]): readonly string[] {
  const violations: string[] = [];
  const seen = new Set<string>();
  let open: string[] = [];
  for (const [at, message] of messages.entries()) {
    const say = (what: string) => violations.push(`message ${at}: ${what}`);
    for (const answer of message.answers ?? []) {
      const expected = open.shift();
      if (expected === undefined) say(`result for ${quote(answer)} answers no open call`);
      else if (expected !== answer) say(`result for ${quote(answer)} where ${quote(expected)} is due`);
    }
    if (message.role === 'tool') continue;
    if (open.length > 0) say(`no result before it for ${open.map(quote).join(', ')}`);
    open = (message.calls ?? []).map((call) => {
      for (const complaint of complaintsAbout(call, seen)) say(complaint);
      seen.add(call.id);
      return call.id;
    });
  }
  if (open.length > 0) violations.push(`at the end: no result for ${open.map(quote).join(', ')}`);
  return violations;
}

/** Complaints about the tools a request offers: illegal or repeated names. */
export function toolNameViolations(names: readonly string[]): readonly string[] {
  const illegal = names
    .filter((name) => !NAME.test(name))
    .map((name) => `tool name ${quote(name)} is illegal`);
  const repeated = names.filter((name, at) => names.indexOf(name) !== at);
  return [...illegal, ...repeated.map((name) => `tool name ${quote(name)} occurs twice`)];
}

function complaintsAbout({ id, name, complaint }: PairedCall, seen: ReadonlySet<string>): readonly string[] {
  return [
    ...(ID.test(id) ? [] : [`call id ${quote(id)} is illegal`]),
    ...(seen.has(id) ? [`call id ${quote(id)} occurs twice`] : []),
    ...(NAME.test(name) ? [] : [`call name ${quote(name)} is illegal`]),
    ...(complaint === undefined ? [] : [`call ${quote(id)}: ${complaint}`]),
  ];
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
