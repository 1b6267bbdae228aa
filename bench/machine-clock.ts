/**
 * Milliseconds of the clock that all processes of a machine share and that nobody sets. The wall clock of a virtual
 * machine may run fast or jump, and processes that began before and after differ by that.
 */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
