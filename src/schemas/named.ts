import type { TSchema } from '@sinclair/typebox'
import { Definition, DefinitionDecision, DefinitionPage, Lock, DefinitionPolicyInput } from './definition.ts'
import { AuditEntry, AuditPage } from './audit.ts'
import { Call, CallCauses, CallPage } from './call.ts'
import { CatalogueDetails, CatalogueInstall, CataloguePage, CataloguePlan, CatalogueServer } from './catalogue.ts'
import { ConnectedClient, OAuthGrant, OAuthGrantPage, RegisteredClient } from './oauth-client.ts'
import { IdentityProviderChecks, SearchChecks } from './check.ts'
import { KeyRotation, NewSigningKey, SigningKeyRotation } from './keys.ts'
import { AccessToken, AccessTokenInput, Account, BrowserSession, IssuedAccessToken } from './access-token.ts'
import {
  Client,
  ClientInput,
  ClientPatch,
  Initialized,
  Invitation,
  InvitationInput,
  IssuedClient,
  IssuedUser,
  RoleInput,
  TokenInput,
  User,
  UserDetails,
  ListedUser,
  UserInput
} from './principal.ts'
import { JsonRpcError, JsonRpcMessage } from './mcp.ts'
import { LeftOutItem } from './left-out.ts'
import {
  EffectiveItem,
  Approval,
  ApprovalDecisionInput,
  Policy,
  PolicyCheck,
  PolicyDecision,
  PolicyInput,
  PolicyReplacement,
  PolicyReplay,
  PolicyReplayResult,
  PolicyTrial
} from './policy.ts'
import { Prompt, PromptCall, PromptResult } from './prompt.ts'
import { Skill } from './skill.ts'
import { Resource, ResourceContents, ResourceRead, ResourceTemplate } from './resource.ts'
import {
  AuthorizationAnswer,
  AuthorizationRequired,
  AuthorizationSession,
  Refresh,
  RegisteredServer,
  Server,
  ServerHealthRecord,
  ServerInput,
  ServerState,
  ServerSwitches,
  ServerSwitchesPatch,
  StartCost,
  RecordingInput,
  UpstreamClient
} from './server.ts'
import { ErrorBody } from './shared.ts'
import { Stats } from './stats.ts'
import { Health, Metadata } from './system.ts'
import {
  EffectiveTools,
  ReplacedToolGroup,
  ToolGroup,
  ToolGroupDetails,
  ToolGroupInput,
  ToolGroupReplacement
} from './tool-group.ts'
import { Tool, ToolCall, ToolResult } from './tool.ts'
import { Team, TeamInput, TeamReplacement } from './team.ts'

/** All named schemas, listed under `components` in the OpenAPI document. */
export const namedSchemas: readonly TSchema[] = [
  Definition,
  DefinitionDecision,
  DefinitionPage,
  Lock,
  ErrorBody,
  Health,
  Metadata,
  LeftOutItem,
  StartCost,
  ServerHealthRecord,
  Server,
  RegisteredServer,
  ServerInput,
  ServerState,
  ServerSwitches,
  ServerSwitchesPatch,
  DefinitionPolicyInput,
  RecordingInput,
  Refresh,
  AuthorizationRequired,
  AuthorizationAnswer,
  AuthorizationSession,
  UpstreamClient,
  CatalogueServer,
  CataloguePage,
  CatalogueDetails,
  CatalogueInstall,
  CataloguePlan,
  Tool,
  ToolCall,
  ToolResult,
  Prompt,
  PromptCall,
  PromptResult,
  Resource,
  ResourceTemplate,
  ResourceRead,
  ResourceContents,
  Skill,
  ToolGroup,
  EffectiveItem,
  Approval,
  ApprovalDecisionInput,
  Policy,
  PolicyCheck,
  PolicyDecision,
  PolicyInput,
  PolicyReplacement,
  PolicyReplay,
  PolicyReplayResult,
  PolicyTrial,
  Team,
  TeamInput,
  TeamReplacement,
  ToolGroupDetails,
  ToolGroupInput,
  ToolGroupReplacement,
  ReplacedToolGroup,
  EffectiveTools,
  AuditEntry,
  AuditPage,
  Call,
  CallCauses,
  CallPage,
  Stats,
  IdentityProviderChecks,
  SearchChecks,
  KeyRotation,
  NewSigningKey,
  SigningKeyRotation,
  ConnectedClient,
  OAuthGrant,
  OAuthGrantPage,
  RegisteredClient,
  Initialized,
  Invitation,
  InvitationInput,
  User,
  UserDetails,
  ListedUser,
  UserInput,
  AccessToken,
  AccessTokenInput,
  Account,
  IssuedAccessToken,
  BrowserSession,
  IssuedUser,
  RoleInput,
  TokenInput,
  Client,
  ClientInput,
  ClientPatch,
  IssuedClient,
  JsonRpcMessage,
  JsonRpcError
]
