// The agents of a schedule as a module for workers: `swarmwright worker test/programs/chaos-agents.ts`.
import { agentsOf } from '../chaos/agents.ts';

const { CHAOS_PROVIDER: baseURL = '', CHAOS_SECRET: apiKey = '', CHAOS_SPY: spyPath = '' } = process.env;

export const { lead, payer } = agentsOf({ baseURL, apiKey, spyPath });
