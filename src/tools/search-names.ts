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
  const verbatim: Forms = new Map();
  const lowered: Forms = new Map();
  const squashed: Forms = new Map();
  tools.forEach((tool, ordinal) => {
    add(verbatim, tool.name, { ordinal, distance: 0 });
    add(lowered, tool.name.toLowerCase(), { ordinal, distance: 1 });
    add(squashed, squash(tool.name), { ordinal, distance: 2 });
    const aliases = tool.aliases?.slice(0, MAX_ALIASES) ?? [];
    for (const alias of aliases) add(squashed, squash(alias), { ordinal, distance: 3 });
    for (const bare of bareNames(tool)) add(squashed, squash(bare), { ordinal, distance: 4 });
  });
  return (text) => {
    const name = text.length > MAX_NAME_CHARS ? '' : text.trim().replace(/^["'`]+|["'`]+$/g, '');
    if (name === '') return NOTHING;
    const found = new Map<number, number>();
    for (const form of [verbatim.get(name), lowered.get(name.toLowerCase()), squashed.get(squash(name))]) {
      for (const { ordinal, distance } of form ?? []) {
        if (!found.has(ordinal)) found.set(ordinal, distance);
      }
    }
    return found;
  };
}

interface NamedAs {
  readonly ordinal: number;
  readonly distance: number;
}
type Forms = Map<string, NamedAs[]>;

function add(forms: Forms, form: string, named: NamedAs): void {
  if (form === '') return;
  const others = forms.get(form);
  if (others === undefined) forms.set(form, [named]);
  else others.push(named);
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
