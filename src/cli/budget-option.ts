import { InvalidArgumentError, Option } from 'commander';
import { BUDGET_FAILURE, type BudgetOptions } from '../turn/run-budget.ts';

const NAMES = Object.keys(BUDGET_FAILURE);

/** `--budget steps=10,costUsd=0.5`, any number of times. */
export function budgetOption(): Option {
  return new Option(
    '--budget <name=number>',
    `hard bounds of the run, for example steps=10,costUsd=0.5; names: ${NAMES.join(', ')}`,
  ).argParser(readBudget);
}

/** @throws InvalidArgumentError which names what is wrong */
function readBudget(text: string, before: BudgetOptions | undefined): BudgetOptions {
  const entries = text.split(',').map((part) => {
    const [name = '', value = '', ...rest] = part.split('=');
    const amount = Number(value);
    if (!NAMES.includes(name)) throw new InvalidArgumentError(`${name} is no budget: ${NAMES.join(', ')}.`);
    if (value.trim() === '' || rest.length > 0 || !(amount >= 0)) {
      throw new InvalidArgumentError(`${name} needs a number of at least 0, as in ${name}=10.`);
    }
    return [name, amount] as const;
  });
  return { ...before, ...Object.fromEntries(entries) };
}
