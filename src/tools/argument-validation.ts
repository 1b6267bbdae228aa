import type { JsonObject } from '../ledger/content.ts';
import { type ArgumentIssue, issuesOfZod, issuesText } from './argument-issues.ts';
import { cloneArguments } from './argument-snapshot.ts';
import type { Validation } from './binding.ts';
import { describeFields, isZodSchema, jsonSchemaForms } from './json-schema.ts';
import { compileSchema, type SchemaValidator } from './schema-validator.ts';
import type { Tool } from './tool.ts';

/**
 * The check of a tool's arguments. What it accepts is parsed and defaulted, and shares nothing with the arguments; what
 * it rejects is told by the names of fields, never by a value. Nothing is loaded or compiled before the first call.
 */
export function createArgumentCheck(
  tool: Pick<Tool, 'name' | 'inputSchema'>,
): (args: JsonObject) => Promise<Validation> {
  const { inputSchema, name } = tool;
  if (isZodSchema(inputSchema)) {
    return async (args) => {
      try {
        const parsed = await inputSchema.safeParseAsync(cloneArguments(args));
        if (parsed.success) return { type: 'valid', value: parsed.data };
        return invalid(tool, issuesOfZod(parsed.error.issues, args));
      } catch {
        // A refinement or transformation threw. What it threw may quote the arguments.
        return invalid(tool, [{ path: [], problem: 'the schema of the tool failed on these arguments' }]);
      }
    };
  }
  let validator: Promise<SchemaValidator> | undefined;
  return async (args) => {
    try {
      const { source, normal } = jsonSchemaForms(inputSchema, name);
      validator ??= compileSchema(source, normal);
      const value = cloneArguments(args);
      const issues = (await validator).check(value);
      return issues.length === 0 ? { type: 'valid', value } : invalid(tool, issues);
    } catch {
      return invalid(tool, [{ path: [], problem: 'the schema of the tool cannot be read' }]);
    }
  };
}

function invalid(tool: Pick<Tool, 'name' | 'inputSchema'>, issues: readonly ArgumentIssue[]): Validation {
  const fields = describeFields(tool.inputSchema, tool.name);
  const message = `${issuesText(issues)}.${fields === undefined ? '' : ` ${fields}`}`;
  return { type: 'invalid', message, paths: issues.map(({ path }) => path) };
}
