import type { AnyAgent } from '../agent/define-agent.ts';
import type { JsonObject } from '../ledger/content.ts';
import { safeText } from '../tools/safe-text.ts';

/** Agents on one page, and characters of it. */
const PAGE_ITEMS = 8;
const PAGE_CHARS = 7_000;

/** What a supervisor is shown of the agents it may choose from: one page. A cursor is the place of the next one. */
export function presetPage(
  agents: readonly AnyAgent[],
  view: 'selection' | 'catalog',
  cursor: string | undefined,
): JsonObject {
  const from = Math.min(Number(cursor ?? '0'), agents.length);
  const presets: JsonObject[] = [];
  let chars = 0;
  for (const agent of agents.slice(from, from + PAGE_ITEMS)) {
    const shown = presetView(agent, view);
    chars += JSON.stringify(shown).length;
    // The first is always shown: a page without any would never end.
    if (presets.length > 0 && chars > PAGE_CHARS) break;
    presets.push(shown);
  }
  const next = from + presets.length;
  return {
    presets,
    page: {
      returned: presets.length,
      total: agents.length,
      ...(next < agents.length ? { next_cursor: String(next) } : {}),
    },
  };
}

function presetView(agent: AnyAgent, view: 'selection' | 'catalog'): JsonObject {
  const { name, description, model, tools } = agent;
  return {
    subagent_id: name,
    description: safeText(description),
    status: 'available',
    ...(view === 'selection'
      ? {}
      : { model: model.modelId, tools: tools.slice(0, 32).map((tool) => tool.name) }),
  };
}
