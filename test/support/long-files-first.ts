import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files start processes, and are long however short their text is. */
const LONG = ['chaos', 'cli', 'examples', 'inspect', 'ledger', 'mcp', 'nats', 'recovery', 'swarm'].map(
  (folder) => `/test/${folder}/`,
);

const isLong = ({ moduleId }: TestSpecification) => LONG.some((folder) => moduleId.includes(folder));

/** Begins with files that take long, so that no worker is left with one of them when the others are done. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
