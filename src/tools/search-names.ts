/** What a tool is called. */
interface NamedTool {
  readonly name: string;
  readonly group?: string;
  readonly aliases?: readonly string[];
}

/** Longer texts are no names. */
const MAX_NAME_CHARS = 512;
const MAX_ALIASES = 32;

/**
 * Resolves what may be a name. The result maps the ordinals of the tools meant to how far the text is from
 * their canonical name: 0 the name itself, 1 in another case, 2 in another style, 3 an alias, 4 the name
 * without its group. Empty if the text is no name.
 */
export type NameResolver = (text: string) => ReadonlyMap<number, number>;

const NOTHING: ReadonlyMap<number, number> = new Map();

/** Prepares the forms under which each tool may be named exactly. Ordinals are positions in `tools`. */
export function createNameResolver(tools: readonly NamedTool[]): NameResolver {
  const verbatim = new Map<string, Map<number, number>>();
  const squashed = new Map<string, Map<number, number>>();
  tools.forEach((tool, ordinal) => {
    add(verbatim, tool.name, ordinal, 0);
    add(verbatim, tool.name.toLowerCase(), ordinal, 1);
    add(squashed, squash(tool.name), ordinal, 2);
    for (const alias of tool.aliases?.slice(0, MAX_ALIASES) ?? []) add(squashed, squash(alias), ordinal, 3);
    for (const bare of bareNames(tool)) add(squashed, squash(bare), ordinal, 4);
  });
  return (text) => {
    const name = text.length > MAX_NAME_CHARS ? '' : text.trim().replace(/^["'`]+|["'`]+$/g, '');
    if (name === '') return NOTHING;
    const found = new Map<number, number>();
    for (const form of [verbatim.get(name), verbatim.get(name.toLowerCase()), squashed.get(squash(name))]) {
      for (const [ordinal, distance] of form ?? NOTHING) {
        if (distance < (found.get(ordinal) ?? Number.POSITIVE_INFINITY)) found.set(ordinal, distance);
      }
    }
    return found;
  };
}

function add(forms: Map<string, Map<number, number>>, form: string, ordinal: number, distance: number): void {
  if (form === '') return;
  const ordinals = forms.get(form) ?? new Map<number, number>();
  forms.set(form, ordinals);
  if (!ordinals.has(ordinal)) ordinals.set(ordinal, distance);
}

/** Letters and digits only, in one case: the same for `readFile`, `read_file`, `READ-FILE` and `read file`. */
function squash(name: string): string {
  return name
    .slice(0, MAX_NAME_CHARS)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** A name without what comes before `__`, a dot, a slash or a colon, and without its group. */
function bareNames(tool: NamedTool): readonly string[] {
  const name = tool.name.slice(0, MAX_NAME_CHARS);
  const bare = new Set<string>();
  for (const separator of [name.indexOf('__'), name.lastIndexOf('__')]) {
    if (separator >= 0) bare.add(name.slice(separator + 2));
  }
  bare.add(name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('/'), name.lastIndexOf(':')) + 1));
  const group = tool.group?.toLowerCase() ?? '';
  const rest = name.toLowerCase().startsWith(group) ? name.slice(group.length) : '';
  if (group !== '' && /^[^\p{L}\p{N}]/u.test(rest)) bare.add(rest);
  return [...bare];
}
