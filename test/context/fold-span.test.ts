import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptMessage } from '../../src/model/adapter.ts';
import { chooseSpan, foldMessages, type MessagePlace, type PlacedHistory } from '../../src/turn/fold-span.ts';
import { findPairingViolations } from '../../src/turn/pairing.ts';

type Piece =
  | { readonly kind: 'input' | 'told' | 'partial' }
  | { readonly kind: 'step'; readonly calls: number };

/** Histories of two turns: inputs, steering, partial answers, and steps with no, one or several calls. */
function historyOf(turns: readonly (readonly Piece[])[]): PlacedHistory {
  const messages: PromptMessage[] = [];
  const places: MessagePlace[] = [];
  let seq = 0;
  turns.forEach((pieces, index) => {
    const turn = `s.${index + 1}`;
    const push = (kind: MessagePlace['kind'], message: PromptMessage) => {
      messages.push(message);
      places.push({ kind, seq, turn });
    };
    for (const piece of [{ kind: 'input' as const }, ...pieces]) {
      seq += 3;
      const text = { type: 'text' as const, text: `${piece.kind} ${seq} of ${turn}` };
      if (piece.kind !== 'step') {
        push(piece.kind, { role: piece.kind === 'partial' ? 'assistant' : 'user', content: [text] });
        continue;
      }
      const ids = Array.from({ length: piece.calls }, (_, ordinal) => `${seq}.${ordinal}`);
      const calls = ids.map((wireId) => ({ type: 'call' as const, wireId, toolName: 't', args: {} }));
      push('step', { role: 'assistant', content: [text, ...calls] });
      const results = ids.map((wireId) => ({
        wireId,
        toolName: 't',
        output: { type: 'text' as const, text: `result ${wireId}` },
      }));
      if (results.length > 0) push('step', { role: 'tool', results });
    }
  });
  return { messages, places };
}

const anyPiece = fc.oneof(
  fc.constantFrom<Piece>({ kind: 'told' }, { kind: 'partial' }),
  fc.integer({ min: 0, max: 4 }).map((calls): Piece => ({ kind: 'step', calls })),
);
const anyTurns = fc.array(fc.array(anyPiece, { maxLength: 10 }), { minLength: 1, maxLength: 3 });
const sizeOf = (message: PromptMessage) => JSON.stringify(message).length;

function lastTurn({ places }: PlacedHistory): string {
  return places.at(-1)?.turn ?? '';
}

describe('for every history and every cut', () => {
  it('T28 CX-04 a fold passes the pairing validator', () => {
    fc.assert(
      fc.property(anyTurns, fc.nat(), (turns, at) => {
        const history = historyOf(turns);
        const seqs = [0, ...history.places.map(({ seq }) => seq)];
        // Any sequence between two facts, not only one that a span would choose.
        const coversSeq = (seqs[at % seqs.length] ?? 0) + (at % 3);
        const folded = foldMessages(history, { turn: lastTurn(history), seq: 999, coversSeq, summary: 'S' });
        expect(findPairingViolations(folded.messages)).toEqual([]);
        expect(folded.places).toHaveLength(folded.messages.length);
      }),
    );
  });

  it('CX-04 the chosen span leaves the last step and folds whole ones', () => {
    fc.assert(
      fc.property(anyTurns, fc.nat({ max: 2_000 }), (turns, tail) => {
        const history = historyOf(turns);
        const turn = lastTurn(history);
        const span = chooseSpan(history, { turn, tail, sizeOf });
        if (span === undefined) return;
        const last = history.places.at(-1);
        expect(span.coversSeq).toBeLessThan(last?.seq ?? 0);
        const folded = foldMessages(history, { turn, seq: 999, coversSeq: span.coversSeq, summary: 'S' });
        expect(findPairingViolations(folded.messages)).toEqual([]);
        expect(folded.messages.at(-1)).toBe(history.messages.at(-1));
        expect(folded.messages).toHaveLength(history.messages.length - span.folded.length + 1);
      }),
    );
  });

  it('MA-05 CX-04 no fold takes what people said in its turn', () => {
    fc.assert(
      fc.property(anyTurns, (turns) => {
        const history = historyOf(turns);
        const turn = lastTurn(history);
        const span = chooseSpan(history, { turn, tail: 0, sizeOf });
        if (span === undefined) return;
        const { messages } = foldMessages(history, {
          turn,
          seq: 999,
          coversSeq: span.coversSeq,
          summary: 'S',
        });
        history.places.forEach(({ kind, turn: of }, at) => {
          if (of === turn && (kind === 'input' || kind === 'told')) {
            expect(messages).toContain(history.messages[at]);
          }
        });
      }),
    );
  });

  it('a fold of a folded history has one checkpoint', () => {
    fc.assert(
      fc.property(anyTurns, (turns) => {
        let history = historyOf(turns);
        const turn = lastTurn(history);
        for (const seq of [997, 998]) {
          const span = chooseSpan(history, { turn, tail: 0, sizeOf });
          if (span === undefined) return;
          history = foldMessages(history, { turn, seq, coversSeq: span.coversSeq, summary: `S${seq}` });
          expect(history.places.filter(({ kind }) => kind === 'checkpoint').length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

describe('a span', () => {
  it('is none where only an earlier checkpoint could go', () => {
    const history = historyOf([
      [
        { kind: 'step', calls: 1 },
        { kind: 'step', calls: 1 },
      ],
    ]);
    const options = { turn: 's.1', tail: 0, sizeOf };
    const span = chooseSpan(history, options);
    expect(span?.folded).toEqual([1, 2]);
    const folded = foldMessages(history, {
      turn: 's.1',
      seq: 99,
      coversSeq: span?.coversSeq ?? 0,
      summary: 'S',
    });
    expect(chooseSpan(folded, options)).toBeUndefined();
  });

  it('leaves as much behind it as it is told to', () => {
    const steps = Array.from({ length: 6 }, (): Piece => ({ kind: 'step', calls: 0 }));
    const history = historyOf([steps]);
    const step = sizeOf(history.messages[1] as PromptMessage);
    expect(chooseSpan(history, { turn: 's.1', tail: step * 2.5, sizeOf })?.folded).toEqual([1, 2, 3, 4]);
  });
});
