import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { ScriptedCall } from './script.ts';

/** The `delta` objects that carry some calls, in sending order. `ids` names calls that say nothing of their id. */
export function callDeltas(
  calls: readonly ScriptedCall[],
  interleaved: boolean,
  newId: () => string,
): readonly JsonObject[] {
  const streams = calls.map((call) => (call.legacy ? legacyDeltas(call) : deltasOf(call, newId)));
  if (!interleaved) return streams.flat();
  const rounds = Math.max(0, ...streams.map((stream) => stream.length));
  const deltas: JsonObject[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const stream of streams) deltas.push(...stream.slice(round, round + 1));
  }
  return deltas;
}

/** The arguments as they go over the wire. */
export function argumentsText({ args = {} }: ScriptedCall): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

function deltasOf(call: ScriptedCall, newId: () => string): readonly JsonObject[] {
  const id = call.id === undefined ? newId() : call.id;
  const pieces = fragmentsOf(call);
  const afterArguments = call.nameIn === 'after-arguments';
  const deltas = pieces.map((piece, at) => {
    const name = afterArguments ? undefined : nameIn(call, at);
    return toolCallDelta(call, {
      ...(id !== null && (at === 0 || call.idIn === 'every') ? { id } : {}),
      ...(at === 0 ? { type: 'function' } : {}),
      function: { ...(name === undefined ? {} : { name }), arguments: piece },
    });
  });
  return afterArguments ? [...deltas, toolCallDelta(call, { function: { name: call.name } })] : deltas;
}

function toolCallDelta({ index = 0 }: ScriptedCall, body: JsonObject): JsonObject {
  return { tool_calls: [{ ...(index === null ? {} : { index }), ...body }] };
}

function nameIn({ name, nameIn: rule = 'first' }: ScriptedCall, piece: number): string | undefined {
  if (rule === 'never') return undefined;
  if (piece === 0 || rule === 'every') return name;
  return rule === 'blank-after' ? '' : undefined;
}

function fragmentsOf(call: ScriptedCall): readonly JsonValue[] {
  const { args = {}, fragments = 1, argumentsAsObject = false } = call;
  if (argumentsAsObject) return [args];
  const text = argumentsText(call);
  const size = Math.max(1, Math.ceil(text.length / fragments));
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );
  return pieces.length === 0 ? [''] : pieces;
}

function legacyDeltas(call: ScriptedCall): readonly JsonObject[] {
  return fragmentsOf(call).map((piece, at) => ({
    function_call: { ...(at === 0 ? { name: call.name } : {}), arguments: piece },
  }));
}
