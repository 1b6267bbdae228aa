import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process that shows its runtime in a page and measures itself. */
export interface ShownProcess<T> extends AsyncDisposable {
  /** Where its page is. */
  readonly url: string;
  /** Lets it work, now that those who are to look do. `seen` resolves when they have all of it. */
  measure(seen?: () => Promise<void>): Promise<T>;
}

/** What such a process says. */
type Said<T> = { readonly url: string } | { readonly measured: T };

/** Starts a file that calls {@link showAndMeasure}. */
export async function startShown<T>(file: string, ...args: readonly string[]): Promise<ShownProcess<T>> {
  const execArgv = ['--expose-gc', '--conditions=swarmwright-source'];
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => {
    throw new Error(`${file} ${args.join(' ')} exited with ${code}`);
  });
  ended.catch(() => undefined);
  const hear = async (): Promise<Said<T>> => {
    // The child says what its file exports.
    const [said] = (await Promise.race([once(child, 'message'), ended])) as [Said<T>];
    return said;
  };
  const first = await hear();
  return {
    url: 'url' in first ? first.url : '',
    async measure(seen) {
      const answer = hear();
      child.send('go');
      await Promise.race([seen?.(), ended]);
      if (child.connected) child.send('seen');
      const said = await answer;
      if ('measured' in said) return said.measured;
      throw new Error(`${file} gave no measurement`);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The side of the process: tells where its page is, works when told to, and stays until it is ended. */
export async function showAndMeasure(
  url: string,
  work: (seen: Promise<unknown>) => Promise<object>,
): Promise<void> {
  process.on('disconnect', () => process.exit());
  const told = once(process, 'message');
  process.send?.({ url });
  await told;
  const seen = once(process, 'message');
  process.send?.({ measured: await work(seen) });
}
