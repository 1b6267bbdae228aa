import type { McpSdk } from './load-sdk.ts';

/** Why a request has no answer: the connection is gone, or the server said no. */
export type RequestFault = 'disconnected' | 'refused';

/** Of what a request threw. */
export function faultOf(sdk: McpSdk, error: unknown): RequestFault {
  if (sdk.ProtocolError.isInstance(error)) return 'refused';
  if (sdk.SdkHttpError.isInstance(error)) {
    // A session the server knows nothing of is over, too.
    return error.status === 404 || error.status >= 500 ? 'disconnected' : 'refused';
  }
  if (!sdk.SdkError.isInstance(error)) return 'disconnected';
  const { ConnectionClosed, NotConnected, SendFailed } = sdk.SdkErrorCode;
  return [ConnectionClosed, NotConnected, SendFailed].includes(error.code) ? 'disconnected' : 'refused';
}

/** Whether the time of a request was over. */
export function isTimeout(sdk: McpSdk, error: unknown): boolean {
  return sdk.SdkError.isInstance(error) && error.code === sdk.SdkErrorCode.RequestTimeout;
}
