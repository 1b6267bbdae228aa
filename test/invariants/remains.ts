import type { Remains } from './witness.ts';

/** I15: nothing is left of processes that ended in good order: no owner, no turn that waits, no fault. */
export function remains({ owned, queued, exitCodes }: Remains): readonly string[] {
  return [
    ...owned.map((session) => `I15 ${session} still has an owner`),
    ...(queued === 0 ? [] : [`I15 ${queued} turns are left in the queue`]),
    ...exitCodes.flatMap((code) =>
      code === 0 ? [] : [`I15 a process that was asked to end ended with ${code}`],
    ),
  ];
}

/** No secret is in what anybody can read. */
export function leaks(
  secrets: readonly string[],
  places: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(places).flatMap(([place, text]) =>
    secrets.flatMap((secret) => (text.includes(secret) ? [`a secret is in ${place}`] : [])),
  );
}
