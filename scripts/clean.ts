import { rmSync } from 'node:fs';

// A file that the source lost must not stay in the package.
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
