import type { ServerResponse } from 'node:http';
import { unlessAborted, untilAborted } from './abort.ts';
import type { PlainResponse, ScriptedResponse, StreamResponse } from './script.ts';
import { completionBody } from './wire-completion.ts';
import { failureResponse } from './wire-failures.ts';
import { type AnswerIdentity, streamFrames } from './wire-stream.ts';

/** Where an answer is played. */
export interface Playback {
  readonly response: ServerResponse;
  /** Whether the client asked for a stream. */
  readonly stream: boolean;
  readonly identity: AnswerIdentity;
  /** Aborts when the client is gone or the server stops. */
  readonly gone: AbortSignal;
}

/** How playing ended: as the script says, or because the client went away first. */
export type PlayEnd = 'played' | 'client-gone';

/** Plays one answer. A broken connection that the script asks for is left for the caller to break. */
export async function playResponse(
  answer: ScriptedResponse,
  playback: Playback,
): Promise<PlayEnd | 'break-connection'> {
  switch (answer.type) {
    case 'failure':
      return playResponse(failureResponse(answer.failure), playback);
    case 'reset':
      return 'break-connection';
    case 'silence':
      await untilAborted(playback.gone);
      return 'client-gone';
    case 'plain':
      return playPlain(answer, playback);
    case 'stream':
      return playback.stream ? playStream(answer, playback) : playWhole(answer, playback);
  }
}

async function playPlain(answer: PlainResponse, { response, gone }: Playback): Promise<PlayEnd> {
  const { status, statusText, headers, body } = answer;
  if (statusText === undefined) response.writeHead(status, headers);
  else response.writeHead(status, statusText, headers);
  return end(response, body, gone);
}

function playWhole(answer: StreamResponse, playback: Playback): Promise<PlayEnd> {
  const body = JSON.stringify(completionBody(answer, playback.identity));
  const headers = { 'content-type': 'application/json', ...answer.headers };
  return playPlain({ type: 'plain', status: answer.status, headers, body }, playback);
}

async function playStream(answer: StreamResponse, playback: Playback): Promise<PlayEnd | 'break-connection'> {
  const { response, gone, identity } = playback;
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
  response.writeHead(answer.status, { ...headers, ...answer.headers });
  response.flushHeaders();
  const cut = createCutter(answer.splitBytes);
  for (const frame of streamFrames(answer, identity)) {
    if (gone.aborted) return 'client-gone';
    switch (frame.type) {
      case 'bytes':
        for (const piece of cut(frame.bytes)) await write(response, piece, gone);
        break;
      case 'wait':
        await unlessAborted(frame.pass(gone), gone);
        break;
      case 'stall':
        await untilAborted(gone);
        break;
      case 'destroy':
        return 'break-connection';
    }
  }
  return end(response, undefined, gone);
}

/** Cuts a body, given frame by frame, into pieces of the sizes in turn. Without sizes a frame is a piece. */
function createCutter(sizes: readonly number[]): (bytes: Uint8Array) => Iterable<Uint8Array> {
  let turn = 0;
  let left = Math.max(1, sizes[0] ?? 1);
  return function* (bytes) {
    if (sizes.length === 0) {
      yield bytes;
      return;
    }
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + left);
      at += piece.length;
      left -= piece.length;
      if (left === 0) {
        turn += 1;
        left = Math.max(1, sizes[turn % sizes.length] ?? 1);
      }
      yield piece;
    }
  };
}

/** Resolves when the piece was handed to the socket, in a turn of the event loop of its own. */
async function write(response: ServerResponse, piece: Uint8Array, gone: AbortSignal): Promise<void> {
  const handed = new Promise<void>((resolve) => response.write(piece, () => resolve()));
  await unlessAborted(handed, gone);
}

async function end(response: ServerResponse, body: string | undefined, gone: AbortSignal): Promise<PlayEnd> {
  const finished = new Promise<void>((resolve) => {
    response.once('finish', resolve);
    response.end(body);
  });
  await unlessAborted(finished, gone);
  return response.writableFinished ? 'played' : 'client-gone';
}
