import { afterAll, beforeAll, expect } from 'vitest';

/** What a library must not do on its own: print, warn, or leave a rejection unhandled. */
export function expectSilence(): void {
  const heard: string[] = [];
  const methods = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;
  const originals = methods.map((method) => console[method]);
  const onWarning = (warning: Error) => heard.push(`warning: ${warning.message}`);
  const onRejection = (reason: unknown) => heard.push(`unhandled rejection: ${String(reason)}`);
  beforeAll(() => {
    for (const method of methods)
      console[method] = (...args: unknown[]) => heard.push(`${method}: ${args[0]}`);
    process.on('warning', onWarning);
    process.on('unhandledRejection', onRejection);
  });
  afterAll(async () => {
    // Rejections and warnings are reported a turn of the loop after they happen.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    process.off('unhandledRejection', onRejection);
    methods.forEach((method, at) => {
      console[method] = originals[at] ?? console[method];
    });
    expect(heard).toEqual([]);
  });
}
