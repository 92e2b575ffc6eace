import type { Migration } from 'kysely'
import * as registry from './0001_registry.ts'
import * as toolGroups from './0002_tool_groups.ts'
import * as principals from './0003_principals.ts'
import * as audit from './0004_audit.ts'
import * as upstreamOAuth from './0005_upstream_oauth.ts'
import * as refreshClaims from './0006_refresh_claims.ts'
import * as calls from './0007_calls.ts'
import * as acceptedDefinitions from './0008_accepted_definitions.ts'
import * as callStages from './0009_call_stages.ts'
import * as leftOut from './0010_left_out.ts'
import * as sealedSettings from './0011_sealed_settings.ts'
import * as sessionEnds from './0012_session_ends.ts'
import * as attempts from './0013_attempts.ts'
import * as catalogue from './0014_catalogue.ts'
import * as savedDisabled from './0015_saved_disabled.ts'
import * as userTokens from './0016_user_tokens.ts'
import * as policies from './0017_policies.ts'
import * as identities from './0018_identities.ts'
import * as authorizationServer from './0019_authorization_server.ts'
import * as localSignIn from './0020_local_sign_in.ts'
import * as scim from './0021_scim.ts'
import * as policyScopes from './0022_policy_scopes.ts'
import * as clientKeys from './0023_client_keys.ts'
import * as callIdentity from './0024_call_identity.ts'
import * as refusedPeople from './0025_refused_people.ts'
import * as pinnedDefinitions from './0026_pinned_definitions.ts'
import * as approvals from './0027_approvals.ts'
import * as approvalTasks from './0028_approval_tasks.ts'
import * as heldCalls from './0029_held_calls.ts'
import * as groupViews from './0031_group_views.ts'
import * as groupSearch from './0032_group_search.ts'
import * as results from './0034_results.ts'
import * as embeddings from './0035_embeddings.ts'
import * as policyCounts from './0036_policy_counts.ts'
import * as callFiles from './0037_call_files.ts'
import * as listOrder from './0038_list_order.ts'

/** All migrations, applied in order of their names. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001_registry': registry,
  '0002_tool_groups': toolGroups,
  '0003_principals': principals,
  '0004_audit': audit,
  '0005_upstream_oauth': upstreamOAuth,
  '0006_refresh_claims': refreshClaims,
  '0007_calls': calls,
  '0008_accepted_definitions': acceptedDefinitions,
  '0009_call_stages': callStages,
  '0010_left_out': leftOut,
  '0011_sealed_settings': sealedSettings,
  '0012_session_ends': sessionEnds,
  '0013_attempts': attempts,
  '0014_catalogue': catalogue,
  '0015_saved_disabled': savedDisabled,
  '0016_user_tokens': userTokens,
  '0017_policies': policies,
  '0018_identities': identities,
  '0019_authorization_server': authorizationServer,
  '0020_local_sign_in': localSignIn,
  '0021_scim': scim,
  '0022_policy_scopes': policyScopes,
  '0023_client_keys': clientKeys,
  '0024_call_identity': callIdentity,
  '0025_refused_people': refusedPeople,
  '0026_pinned_definitions': pinnedDefinitions,
  '0027_approvals': approvals,
  '0028_approval_tasks': approvalTasks,
  '0029_held_calls': heldCalls,
  '0031_group_views': groupViews,
  '0032_group_search': groupSearch,
  '0034_results': results,
  '0035_embeddings': embeddings,
  '0036_policy_counts': policyCounts,
  '0037_call_files': callFiles,
  '0038_list_order': listOrder
}
