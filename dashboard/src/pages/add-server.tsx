import { PageHead } from '../components/page-head.tsx'

export const AddServer = () => <PageHead title="Add server" />
