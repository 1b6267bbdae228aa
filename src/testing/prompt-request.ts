import type { UserPart } from '../ledger/content.ts';
import type { PromptMessage, StepRequest, ToolChoice } from '../model/adapter.ts';
import { type PairedMessage, pairingViolations, toolNameViolations } from './pairing-validator.ts';
import type { ParsedMessage, ParsedRequest } from './script.ts';

/** What a strict provider would refuse the request for. */
export function promptViolations({ messages, tools }: StepRequest): readonly string[] {
  return [...pairingViolations(messages.map(pairedOf)), ...toolNameViolations(tools.map(({ name }) => name))];
}

/** A request of the port as scripts see it. */
export function parsePrompt(request: StepRequest, ordinal: number, model: string): ParsedRequest {
  const messages = request.messages.flatMap(parsedOf);
  return {
    ordinal,
    model,
    system: request.system ?? '',
    messages,
    toolNames: request.tools.map(({ name }) => name),
    toolChoice: choiceOf(request.toolChoice),
    lastText: messages.at(-1)?.text ?? '',
  };
}

function pairedOf(message: PromptMessage): PairedMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user' };
    case 'tool':
      return { role: 'tool', answers: message.results.map(({ wireId }) => wireId) };
    case 'assistant':
      return { role: 'assistant', calls: callsOf(message) };
  }
}

function parsedOf(message: PromptMessage): readonly ParsedMessage[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', text: textOf(message.content), calls: [] }];
    case 'assistant':
      return [{ role: 'assistant', text: assistantText(message), calls: callsOf(message) }];
    case 'tool':
      return message.results.map(({ wireId, output }) => ({
        role: 'tool',
        text: outputText(output),
        calls: [],
        callId: wireId,
      }));
  }
}

function callsOf({ content }: Extract<PromptMessage, { role: 'assistant' }>) {
  return content.flatMap((part) =>
    part.type === 'call' ? [{ id: part.wireId, name: part.toolName, args: part.args }] : [],
  );
}

function assistantText({ content }: Extract<PromptMessage, { role: 'assistant' }>): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function textOf(parts: readonly UserPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('');
}

function outputText(output: Extract<PromptMessage, { role: 'tool' }>['results'][number]['output']): string {
  switch (output.type) {
    case 'text':
    case 'error':
      return output.text;
    case 'json':
      return JSON.stringify(output.value);
    case 'content':
      return textOf(output.parts);
  }
}

function choiceOf(choice: ToolChoice): string {
  return choice.type === 'tool' ? choice.toolName : choice.type;
}
