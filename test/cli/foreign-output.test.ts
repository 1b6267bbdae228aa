import { describe, expect, it } from 'vitest';
import { type GuardedStream, guardOutput } from '../../src/cli/foreign-output.ts';

function guarded() {
  const written: unknown[] = [];
  const original = (chunk: unknown) => {
    written.push(chunk);
    return true;
  };
  const stream: GuardedStream = { write: original };
  const lines: string[] = [];
  const guard = guardOutput([stream], (line) => lines.push(line));
  return { stream, lines, written, guard, original };
}

describe('what others print', () => {
  it('is handed out line by line, and nothing of it is written', () => {
    const { stream, lines, written, guard } = guarded();
    stream.write('one\ntw');
    stream.write(new TextEncoder().encode('o\nthree'));
    expect(lines).toEqual(['one', 'two']);
    guard.flush();
    expect(lines).toEqual(['one', 'two', 'three']);
    expect(written).toEqual([]);
  });

  it('may cut a character between two writes', () => {
    const { stream, lines } = guarded();
    const bytes = new TextEncoder().encode('漢\n');
    stream.write(bytes.slice(0, 1));
    stream.write(bytes.slice(1));
    expect(lines).toEqual(['漢']);
  });

  it('is not kept without bound where it has no line end', () => {
    const { stream, lines } = guarded();
    stream.write('x'.repeat(100_000));
    expect(lines).toHaveLength(1);
  });

  it('calls back those who wait for their write', async () => {
    const { stream } = guarded();
    await new Promise((resolve) => stream.write('one\n', 'utf8', resolve));
  });

  it('goes its own way again when the guard is gone', () => {
    const { stream, lines, guard, original } = guarded();
    stream.write('open');
    guard.restore();
    expect(lines).toEqual(['open']);
    expect(stream.write).toBe(original);
  });
});
