import { PageHead } from '../components/page-head.tsx'

export const Prompts = () => <PageHead title="Prompts" />
