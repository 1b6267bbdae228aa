// The script of spawn-scripted-server.test.ts, loaded by a process of its own.
import { reply } from '../../src/testing/reply.ts';

export const script = [reply().text('one'), reply().text('two')];
