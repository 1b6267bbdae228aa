import type { JsonObject } from '../ledger/content.ts';
import type { Limits } from '../limits.ts';
import { snapshotArguments } from './argument-snapshot.ts';
import type { BoundTool } from './binding.ts';
import { decidePermission, type PermissionOptions, type PermissionRequest } from './permission.ts';

/** Arguments fit to run, or what is wrong with them. */
export type CheckedArguments =
  | { readonly type: 'ok'; readonly args: JsonObject }
  | { readonly type: 'invalid'; readonly complaint: string };

/** Arguments a gate or a person put in place of the model's: as plain, bounded and valid as any. */
export async function checkReplacement(
  bound: BoundTool,
  input: unknown,
  limits: Limits,
): Promise<CheckedArguments> {
  const snapshot = snapshotArguments(input, limits.arguments);
  if (snapshot.type === 'rejected') return { type: 'invalid', complaint: snapshot.reason };
  const bytes = Buffer.byteLength(JSON.stringify(snapshot.args));
  if (bytes > limits.ledger.maxInlineBytes) {
    return { type: 'invalid', complaint: `more than ${limits.ledger.maxInlineBytes} bytes` };
  }
  const validation = await bound.validate(snapshot.args);
  if (validation.type === 'invalid') return { type: 'invalid', complaint: validation.message };
  return { type: 'ok', args: snapshot.args };
}

/**
 * Complaint about what a person puts in place of the model's input, or undefined when it may run: it has to fit
 * the tool, and no policy may deny it. `request.input` is the edited one.
 */
export async function checkEdit(
  bound: BoundTool,
  request: PermissionRequest,
  options: Omit<PermissionOptions, 'remembered'> & { readonly limits: Limits },
): Promise<string | undefined> {
  const checked = await checkReplacement(bound, request.input, options.limits);
  if (checked.type === 'invalid') return checked.complaint;
  const verdict = await decidePermission(bound, { ...request, input: checked.args }, options);
  if (verdict.type !== 'deny') return undefined;
  return verdict.reason === undefined ? 'a policy denies it' : `a policy denies it: ${verdict.reason}`;
}
