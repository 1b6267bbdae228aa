import { createRuntime, defineAgent } from 'swarmwright';
import { stately } from 'swarmwright/inspect';
import { reply, scriptedModel } from 'swarmwright/testing';

// Runs an agent that is shown at an address, closes nothing, and says when it is done.
const model = scriptedModel({ script: [reply().text('done')] });
const agent = defineAgent({ name: 'clerk', instructions: 'Work.', model });
const inspect = stately({ url: process.argv[2] ?? '' });
const runtime = createRuntime({ inspect });
const result = await runtime.run(agent, 'go').result;
if (process.argv[3] === 'flush') await inspect.flushed();
console.log(`ended ${result.status}`);
