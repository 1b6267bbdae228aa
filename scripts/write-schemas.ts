// Writes the descriptions of what is on the bus: npm run schemas. A test holds them to the source.
import { writeFileSync } from 'node:fs';
import { schemaFiles } from './schemas.ts';

for (const [path, text] of Object.entries(schemaFiles())) writeFileSync(path, text);
