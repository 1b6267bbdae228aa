import { Option } from 'commander';

/** `--indeterminate DECISION`, said the same way in every command. */
export function indeterminateOption(): Option {
  return new Option('--indeterminate <decision>', 'what becomes of calls whose outcome is unknown')
    .choices(['block', 'retry', 'abandon'])
    .default('block');
}
