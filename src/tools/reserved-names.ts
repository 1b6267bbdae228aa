/** Names the runtime gives to tools of its own: no tool of a user may have one or look like one. */
export const RESERVED_TOOL_NAMES: readonly string[] = [
  'tool_search',
  'ToolSearch',
  'load_tools',
  'tool_inspect',
  'tool_invoke',
  'submit_output',
  'read_artifact',
  'agent_list',
  'agent_spawn',
  'agent_output',
  'agent_swarm_status',
  'update_agent_graph',
  'view_agent_graph',
  'yield_agent_graph',
];
