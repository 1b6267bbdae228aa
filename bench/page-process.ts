import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process that shows its runtime in a page, and measures itself at what it is told to do. */
export interface ShownProcess<Order extends string, Measured> extends AsyncDisposable {
  /** Where its page is. */
  readonly url: string;
  /** One at a time. `seen` resolves when those who look have all of it; it is told so. */
  measure(order: Order, seen?: () => Promise<void>): Promise<Measured>;
}

type Told<Order extends string> = { readonly order: Order } | { readonly seen: true };
type Said<Measured> = { readonly url: string } | { readonly measured: Measured };

/** Starts a file that calls {@link showAndMeasure}. */
export async function startShown<Order extends string, Measured>(
  file: string,
  ...args: readonly string[]
): Promise<ShownProcess<Order, Measured>> {
  const execArgv = ['--expose-gc', '--conditions=swarmwright-source'];
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => {
    throw new Error(`${file} ${args.join(' ')} exited with ${code}`);
  });
  ended.catch(() => undefined);
  const hear = async (): Promise<Said<Measured>> => {
    // The child says what its file exports.
    const [said] = (await Promise.race([once(child, 'message'), ended])) as [Said<Measured>];
    return said;
  };
  const tell = (told: Told<Order>) => void (child.connected && child.send(told));
  const first = await hear();
  return {
    url: 'url' in first ? first.url : '',
    async measure(order, seen) {
      const answer = hear();
      tell({ order });
      await Promise.race([seen?.(), ended]);
      tell({ seen: true });
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
export function showAndMeasure<Order extends string>(
  url: string,
  work: (order: Order, seen: Promise<void>) => Promise<object>,
): void {
  let seen = Promise.withResolvers<void>();
  process.on('disconnect', () => process.exit());
  process.on('message', async (told: Told<Order>) => {
    if ('seen' in told) return seen.resolve();
    seen = Promise.withResolvers();
    process.send?.({ measured: await work(told.order, seen.promise) });
  });
  process.send?.({ url });
}
