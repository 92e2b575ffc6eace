import { PageHead } from '../components/page-head.tsx'

export const GroupBuilder = () => <PageHead title="Group" />
