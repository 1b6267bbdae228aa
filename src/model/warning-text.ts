import type { ProviderWarning } from './language-model.ts';

/** A provider package's warning as one sentence. */
export function warningText(warning: ProviderWarning): string {
  switch (warning.type) {
    case 'unsupported':
    case 'compatibility':
      return warning.details === undefined
        ? `${warning.type}: ${warning.feature}`
        : `${warning.type}: ${warning.feature} (${warning.details})`;
    case 'deprecated':
      return `deprecated: ${warning.setting} (${warning.message})`;
    case 'other':
      return warning.message;
  }
}
